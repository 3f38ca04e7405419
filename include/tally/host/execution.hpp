// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How an update is spread over threads. An execution policy calls f(part) for each part; parts are cut by the tracker,
// always in the same way for the same number of parts, so a run is repeatable.
#pragma once

#include <concepts>
#include <cstddef>

namespace tally::host {

/// | expression                | returns     | meaning                                                    |
/// |---------------------------|-------------|------------------------------------------------------------|
/// | e.concurrency()           | std::size_t | most parts worth cutting an update into; constant, >= 1    |
/// | e.for_each_part(parts, f) | void        | calls f(0) ... f(parts - 1), each once, in any threads     |
///
/// Models: serial, openmp (tally/host/openmp.hpp), or a user's own thread pool.
template <class E>
concept execution = requires(E const& e, std::size_t parts, void (*f)(std::size_t)) {
    { e.concurrency() } -> std::convertible_to<std::size_t>;
    e.for_each_part(parts, f);
};

/// The calling thread.
struct serial {
    [[nodiscard]] static constexpr std::size_t concurrency() { return 1; }
    template <class F>
    static constexpr void for_each_part(std::size_t parts, F&& f) {
        for (std::size_t part = 0; part < parts; ++part) {
            f(part);
        }
    }
};
static_assert(execution<serial>);

} // namespace tally::host
