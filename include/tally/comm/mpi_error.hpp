// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `mpi_error`: a call of MPI failed. Needs no MPI to be caught.
#pragma once

#include <tally/core/errors.hpp>

#include <string>

namespace tally {

/// MPI reported an error in the middle of a collective, such as a process that it knows to be dead. The communicator is
/// unusable and local states are intact, as with every `replica_lost`; `what()` holds MPI's own text.
class mpi_error : public replica_lost {
public:
    mpi_error(std::string const& what, int code) : replica_lost(what), code_(code) {}

    /// The error code, for MPI_Error_class.
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    int code_;
};

} // namespace tally
