// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps of a gradient monitor allocate nothing. Counted by the global operator new of this executable.
#include <tally/monitor/gradient_monitor.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::atomic<std::int64_t> allocations = 0;

} // namespace

// The nothrow form is here because sanitizers bring their own, whose memory the delete below must not free. Not inlined,
// or g++ would see free() meet new and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    ++allocations;
    return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    if (void* const memory = operator new(bytes, std::nothrow)) {
        return memory;
    }
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("gradient_monitor: steps allocate nothing, a report does") {
    tally::layer_registry layers;
    layers.add("short", 100);
    layers.add("long", 5000, tally::gradient_type::bfloat16);
    tally::host::gradient_monitor<tally::partitioned> monitor{layers};
    std::vector<float> const a(100, 1.0F);
    std::vector<tally::bfloat16_bits> const b(5000);
    auto const before = allocations.load();
    for (int step = 0; step < 3; ++step) {
        monitor.begin_step({.loss_scale = 2});
        monitor.observe({a, b});
        monitor.observe_update(1, b, b);
        step == 1 ? monitor.skip_step() : monitor.end_step();
    }
    monitor.begin_epoch();
    CHECK(allocations.load() == before);
    (void)monitor.local();
    CHECK(allocations.load() > before); // the counter counts
}
