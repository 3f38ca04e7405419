// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The device engine as a type. Models engine.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/cuda/tracker.cuh>
#include <tally/cuda/tuning.hpp>
#include <tally/engine.hpp>

namespace tally::cuda {

template <class Tuning = default_tuning>
struct engine {
    using memory_space = device_space;
    template <class M>
    using tracker = cuda::tracker<M, Tuning>;
};

} // namespace tally::cuda
