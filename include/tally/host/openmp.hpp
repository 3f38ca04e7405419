// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads by OpenMP: part of both compilers, its pool outlives the calls, and a static schedule cuts a run always in the
// same way. Compile with -fopenmp (CMake: tally::openmp). A header of its own, so that using it is visible in the type.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/host/execution.hpp>

#include <cstddef>

#if !defined(_OPENMP)
#error "tally/host/openmp.hpp needs OpenMP: compile with -fopenmp, or link the CMake target tally::openmp"
#endif

namespace tally::host {

/// `threads` threads of the OpenMP run time. Throws configuration_error for 0 threads.
class openmp {
public:
    explicit openmp(std::size_t threads) : threads_{threads} {
        if (threads == 0) {
            throw configuration_error("host::openmp needs at least one thread");
        }
    }
    [[nodiscard]] std::size_t concurrency() const { return threads_; }

    template <class F>
    void for_each_part(std::size_t parts, F&& f) const {
        auto const count = static_cast<std::ptrdiff_t>(parts);
        auto const threads = static_cast<int>(threads_ < parts ? threads_ : parts);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
        for (std::ptrdiff_t part = 0; part < count; ++part) {
            f(static_cast<std::size_t>(part));
        }
    }

private:
    std::size_t threads_;
};
static_assert(execution<openmp>);

} // namespace tally::host
