// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of the concept `communicator`, one templated body for every model. A test instantiates it with a runner that
// makes a fresh group and calls a function on each replica, all at once. Expected results are closed formulas.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::testing {

/// Data where a communicator of `Space` wants it. `device_space` is specialised next to its runner.
template <class Space, class T>
class law_buffer {
    static_assert(std::is_same_v<Space, host_space>, "specialise law_buffer for this memory space");

public:
    explicit law_buffer(std::vector<T> values) : values_(std::move(values)) {}
    [[nodiscard]] std::span<T> span() { return values_; }
    [[nodiscard]] std::vector<T> read() const { return values_; }

private:
    std::vector<T> values_;
};

/// What one replica does in the laws: each function issues collectives and checks the results on this replica.
template <communicator Communicator>
class communicator_law {
public:
    using space = typename Communicator::memory_space;
    using words = std::vector<std::uint64_t>;
    using bytes = std::vector<std::byte>;
    static constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
    static constexpr auto top_bit = std::uint64_t{1} << 63;

    explicit communicator_law(Communicator& comm)
        : comm_(comm), rank_(static_cast<std::uint64_t>(comm.rank())), size_(static_cast<std::uint64_t>(comm.size())) {}

    void place_in_group(int expected_size) {
        CHECK(comm_.size() == expected_size);
        CHECK(comm_.rank() >= 0);
        CHECK(comm_.rank() < comm_.size());
    }

    void gathers(std::size_t count) {
        bytes expected;
        for (int replica = 0; replica != comm_.size(); ++replica) {
            auto const theirs = pattern(replica, count);
            expected.insert(expected.end(), theirs.begin(), theirs.end());
        }
        bytes const untouched(expected.size(), std::byte{0xA5});
        law_buffer<space, std::byte> mine{pattern(comm_.rank(), count)};

        law_buffer<space, std::byte> all{untouched};
        comm_.all_gather(mine.span(), all.span());
        CHECK(all.read() == expected);

        for (int root = 0; root != comm_.size(); ++root) {
            law_buffer<space, std::byte> rooted{untouched};
            comm_.gather(mine.span(), rooted.span(), root);
            CHECK(rooted.read() == (root == comm_.rank() ? expected : untouched));
        }
        if (comm_.rank() == 0) {
            law_buffer<space, std::byte> only_root{untouched};
            comm_.gather(mine.span(), only_root.span(), 0);
            CHECK(only_root.read() == expected);
        } else {
            comm_.gather(mine.span(), {}, 0); // other replicas need no buffer
        }
        CHECK(mine.read() == pattern(comm_.rank(), count));
    }

    /// Sums of `count` words: small counts, wrapping unsigned words, signed words, a carry into the top bit.
    void sums(std::size_t count) {
        auto const triangle = size_ * (size_ - 1) / 2; // 0 + 1 + ... + (size - 1)
        words given(count);
        words expected(count);
        for (std::size_t i = 0; i != count; ++i) {
            switch (i % 4) {
            case 0: // small counts
                given[i] = 1000 * rank_ + i;
                expected[i] = 1000 * triangle + size_ * i;
                break;
            case 1:
                given[i] = largest; // one short of 2^64 on each replica
                expected[i] = largest - (size_ - 1);
                break;
            case 2:
                given[i] = static_cast<std::uint64_t>(-static_cast<std::int64_t>(rank_) - 7);
                expected[i] = static_cast<std::uint64_t>(-static_cast<std::int64_t>(triangle + 7 * size_));
                break;
            default: // a carry out of the top bit
                given[i] = top_bit;
                expected[i] = size_ % 2 == 1 ? top_bit : 0;
            }
        }
        reduces(
            given, expected, [](Communicator& comm, auto data) { comm.all_reduce_sum(data); },
            [](Communicator& comm, auto data, int root) { comm.reduce_sum(data, root); });
    }

    /// Maxima of `count` words, with 0, 2^63 - 1, 2^63 and 2^64 - 1 among the data: as unsigned, never as signed.
    void maxima(std::size_t count) {
        words given(count);
        words expected(count);
        for (std::size_t i = 0; i != count; ++i) {
            switch (i % 4) {
            case 0:
                given[i] = rank_ + i;
                expected[i] = size_ - 1 + i;
                break;
            case 1:
                given[i] = i % size_ == rank_ ? largest : 0;
                expected[i] = largest;
                break;
            case 2:
                given[i] = i % size_ == rank_ ? top_bit : top_bit - 1;
                expected[i] = top_bit;
                break;
            default: break; // zeros on every replica
            }
        }
        reduces(
            given, expected, [](Communicator& comm, auto data) { comm.all_reduce_max(data); },
            [](Communicator& comm, auto data, int root) { comm.reduce_max(data, root); });
    }

    void groups() {
        law_buffer<space, std::uint64_t> sum{{rank_ + 1, largest}};
        law_buffer<space, std::uint64_t> max{{rank_, rank_ == 0 ? largest : 0, 3}};
        law_buffer<space, std::byte> mine{{static_cast<std::byte>(rank_ + 1)}};
        law_buffer<space, std::byte> all{bytes(size_)};
        int runs = 0;
        comm_.grouped([&] {
            ++runs;
            comm_.all_reduce_sum(sum.span());
            comm_.all_reduce_max(max.span());
            comm_.all_gather(mine.span(), all.span());
        });
        CHECK(runs == 1);
        CHECK(sum.read() == words{size_ * (size_ + 1) / 2, largest - (size_ - 1)});
        CHECK(max.read() == words{size_ - 1, largest, 3});
        bytes expected(size_);
        for (std::size_t i = 0; i != expected.size(); ++i) {
            expected[i] = static_cast<std::byte>(i + 1);
        }
        CHECK(all.read() == expected);
    }

    void agrees() {
        auto& log = comm_.agreements();
        CHECK_FALSE(log.contains(17));
        log.insert(17);
        log.insert(largest);
        CHECK(comm_.agreements().contains(17));
        CHECK(comm_.agreements().contains(largest));
        CHECK_FALSE(comm_.agreements().contains(18));
    }

    void deadlines() {
        auto const before = comm_.deadline();
        CHECK(before > std::chrono::milliseconds::zero());
        comm_.set_deadline(std::chrono::milliseconds{54321});
        CHECK(comm_.deadline() == std::chrono::milliseconds{54321});
        CHECK_THROWS_AS(comm_.set_deadline(std::chrono::milliseconds{-1}), configuration_error);
        CHECK(comm_.deadline() == std::chrono::milliseconds{54321});
        comm_.set_deadline(before);
    }

    /// The last replica sends one word more than the others: all of them must find out.
    void throws_on_mismatch() {
        law_buffer<space, std::uint64_t> data{words(rank_ + 1 == size_ ? 4 : 3)};
        CHECK_THROWS_AS(comm_.all_reduce_sum(data.span()), layout_mismatch);
    }

private:
    template <class ToAll, class ToRoot>
    void reduces(words const& given, words const& expected, ToAll to_all, ToRoot to_root) {
        law_buffer<space, std::uint64_t> everywhere{given};
        to_all(comm_, everywhere.span());
        CHECK(everywhere.read() == expected);
        for (int root = 0; root != comm_.size(); ++root) {
            law_buffer<space, std::uint64_t> rooted{given};
            to_root(comm_, rooted.span(), root);
            CHECK(rooted.read() == (root == comm_.rank() ? expected : given));
        }
    }

    [[nodiscard]] static bytes pattern(int replica, std::size_t count) {
        bytes result(count);
        for (std::size_t i = 0; i != count; ++i) {
            result[i] = static_cast<std::byte>((static_cast<std::size_t>(replica) * 37 + i * 11 + 1) % 251);
        }
        return result;
    }

    Communicator& comm_;
    std::uint64_t rank_;
    std::uint64_t size_;
};

/// Checks every law. `make_group_runner()` returns a runner of a fresh group with
///   `size()`            replicas expected in the group,
///   `run(function)`     calls `function(comm)` on each replica of the group concurrently and waits for them,
///   `sees_mismatch`     a static constant: whether the model finds out that replicas call different things.
template <class MakeGroupRunner>
void check_communicator_laws(MakeGroupRunner make_group_runner) {
    auto const run = [&](auto law) {
        auto runner = make_group_runner();
        runner.run([&]<class Communicator>(Communicator& comm) {
            static_assert(tally::communicator<Communicator>);
            communicator_law<Communicator> replica{comm};
            law(replica);
        });
    };
    auto runner = make_group_runner();
    auto const size = runner.size();

    run([&](auto& replica) { replica.place_in_group(size); });
    run([](auto& replica) { replica.gathers(24); });
    run([](auto& replica) { replica.sums(24); });
    run([](auto& replica) { replica.maxima(24); });
    run([](auto& replica) { replica.groups(); });
    run([](auto& replica) { replica.agrees(); });
    run([](auto& replica) { replica.deadlines(); });
    run([](auto& replica) { // empty spans take part
        replica.gathers(0);
        replica.sums(0);
        replica.maxima(0);
        replica.sums(1);
    });
    run([](auto& replica) { // one communicator, sizes up and down, not multiples of a word or of the number of replicas
        for (auto const count : std::vector<std::size_t>{1, 7, 3, 1000, 2, 8, 4097, 0, 5, 1001}) {
            replica.gathers(count);
            replica.sums(count);
            replica.maxima(count);
        }
        replica.groups();
    });
    if constexpr (decltype(runner)::sees_mismatch) {
        if (size > 1) {
            run([](auto& replica) { replica.throws_on_mismatch(); });
        }
    }
}

} // namespace tally::testing
