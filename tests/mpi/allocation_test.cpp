// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A replica that runs out of memory in combine throws before it sends anything, so that it may call again, while the
// others wait. By the global operator new of this program, which fails when told to.
#include "mpi/support.hpp"

#include <tally/comm/mpi.hpp>
#include <tally/comm/self.hpp>
#include <tally/tally.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

constexpr int never = -1;
thread_local int allocations_before_failure = never;

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (allocations_before_failure != never && allocations_before_failure-- == 0) {
        allocations_before_failure = never;
        throw std::bad_alloc{};
    }
    auto const whole = (bytes + alignment) / alignment * alignment; // and never zero
    if (void* const memory = std::aligned_alloc(alignment, whole)) {
        return memory;
    }
    throw std::bad_alloc{};
}

} // namespace

// All forms that this program uses. Sanitizers bring a nothrow form of their own, whose memory must not get here. Not
// inlined, or g++ would see free() meet new and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

TEST_CASE("combine over MPI: out of memory at any place before the message, then it combines when it calls again") {
    auto comm = world(30s);
    tally::host::tracker<tally::confusion_matrix<>> tracker{tally::num_classes{30}};
    tracker.update(tally::predictions(std::vector<int>{1, 2, 3}), tally::targets(std::vector<int>{1, 2, 4}));
    tally::self_communicator self;
    auto const before = tracker.snapshot(self);
    (void)tracker.combine(comm); // compares the layouts, and brings the memory that is kept
    int failures = 0;
    for (int place = 0; place != 8; ++place) {
        if (comm.rank() == comm.size() - 1) {
            allocations_before_failure = place;
        }
        try {
            (void)tracker.combine(comm);
        } catch (std::bad_alloc const&) {
            ++failures;
            CHECK(tracker.snapshot(self) == before);
            CHECK(tracker.combine(comm).samples() == 3 * static_cast<std::uint64_t>(comm.size())); // the others wait
        }
        allocations_before_failure = never;
        CHECK(works(comm));
    }
    CHECK((failures > 0) == (comm.rank() == comm.size() - 1));
    CHECK(tracker.combine(comm).samples() == 3 * static_cast<std::uint64_t>(comm.size()));
}
