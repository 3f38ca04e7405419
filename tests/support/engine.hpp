// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine under test: testing::engine and testing::tracker<M>. Compiled with TALLY_TEST_DEVICE_ENGINE (by nvcc) it is
// the device engine, whose updates here take host memory too, so that the bodies of tests are the same for both.
#pragma once

#if defined(TALLY_TEST_DEVICE_ENGINE)
#include "support/device_tracker.cuh"
#else
#include <tally/host/engine.hpp>
#endif

namespace tally::testing {

#if defined(TALLY_TEST_DEVICE_ENGINE)
using engine = device_engine;
inline constexpr bool on_device = true;
#else
using engine = host::engine<>;
inline constexpr bool on_device = false;
#endif

template <class M>
using tracker = typename engine::template tracker<M>;

} // namespace tally::testing
