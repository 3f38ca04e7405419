// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives of thread replicas don't allocate once their staging has the size. Counted by the global operator new of
// this executable.
#include <tally/comm/replicas.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

namespace {

std::atomic<std::int64_t> allocations = 0;

} // namespace

// Over-aligned memory isn't counted: staging is made of plain words. The nothrow form is here because sanitizers bring
// their own, whose memory the delete below must not free. Not inlined, or g++ would see free() meet new and warn.
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

TEST_CASE("thread_communicator: no allocation once the staging has the size") {
    constexpr int count = 4;
    std::int64_t growing = 0;
    std::int64_t steady = 0;
    tally::replicas{count}.run([&](tally::thread_communicator& comm) {
        std::vector<std::uint64_t> words(1000);
        std::vector<std::byte> mine(777);
        std::vector<std::byte> all(mine.size() * count);
        auto const collectives = [&](std::size_t size) {
            auto const some_words = std::span{words}.first(size);
            comm.all_reduce_sum(some_words);
            comm.all_reduce_max(some_words);
            comm.reduce_sum(some_words, 1);
            comm.reduce_max(some_words, 2);
            comm.all_gather(mine, all);
            comm.gather(mine, all, 3);
            (void)comm.agreements().contains(5);
        };
        // Replica 0 reads the counter while all others stand still between two collectives.
        auto const measured = [&](std::size_t size, int rounds) {
            comm.all_gather({}, {});
            auto const before = allocations.load();
            comm.all_gather({}, {});
            for (int round = 0; round != rounds; ++round) {
                collectives(size);
            }
            comm.all_gather({}, {});
            auto const after = allocations.load();
            comm.all_gather({}, {});
            return after - before;
        };
        auto const first = measured(1000, 1);
        auto const then = measured(1000, 50) + measured(10, 50);
        if (comm.rank() == 0) {
            growing = first;
            steady = then;
        }
    });
    CHECK(growing >= count); // the counter counts: each replica's staging grew
    CHECK(steady == 0);
}
