// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A replica's communicator is passed by reference; it can't be copied.
// expect: run calls function\(thread_communicator&\): take the communicator by reference
#include <tally/comm/replicas.hpp>

#ifdef TALLY_OK
using communicator = tally::thread_communicator&;
#else
using communicator = tally::thread_communicator;
#endif

void use(tally::replicas const& replicas) {
    replicas.run([](communicator comm) { (void)comm.rank(); });
}
