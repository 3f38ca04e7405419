// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A communicator that passes everything on to another one and counts what passes: calls and bytes by kind. It turns a
// promise such as "one message per combine" into an assertion. Models `communicator` wherever the inner one does.
#pragma once

#include <tally/comm/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tally::testing {

/// What went through one kind of collective.
struct traffic {
    int calls = 0;
    std::size_t bytes = 0; // handed over by this replica: `mine` of gathers, the words of reductions

    friend bool operator==(traffic const&, traffic const&) = default;
};

/// Wraps `inner`, which must outlive it. Calls that throw are counted as well: they were issued.
template <tally::communicator Communicator>
class counting_communicator {
public:
    using memory_space = typename Communicator::memory_space;

    struct record {
        traffic all_gather;
        traffic gather;
        traffic all_reduce_sum;
        traffic all_reduce_max;
        traffic reduce_sum;
        traffic reduce_max;
        int groups = 0;

        [[nodiscard]] traffic total() const noexcept {
            traffic sum;
            for (auto const& each : {all_gather, gather, all_reduce_sum, all_reduce_max, reduce_sum, reduce_max}) {
                sum.calls += each.calls;
                sum.bytes += each.bytes;
            }
            return sum;
        }

        friend bool operator==(record const&, record const&) = default;
    };

    explicit counting_communicator(Communicator& inner) : inner_(inner) {}

    [[nodiscard]] record const& counted() const noexcept { return counted_; }
    void forget() noexcept { counted_ = {}; }

    [[nodiscard]] int rank() const { return inner_.rank(); }
    [[nodiscard]] int size() const { return inner_.size(); }

    void all_gather(std::span<std::byte const> mine, std::span<std::byte> all) {
        count(counted_.all_gather, mine.size());
        inner_.all_gather(mine, all);
    }
    void gather(std::span<std::byte const> mine, std::span<std::byte> all, int root) {
        count(counted_.gather, mine.size());
        inner_.gather(mine, all, root);
    }
    void all_reduce_sum(std::span<std::uint64_t> words) {
        count(counted_.all_reduce_sum, words.size_bytes());
        inner_.all_reduce_sum(words);
    }
    void all_reduce_max(std::span<std::uint64_t> words) {
        count(counted_.all_reduce_max, words.size_bytes());
        inner_.all_reduce_max(words);
    }
    void reduce_sum(std::span<std::uint64_t> words, int root) {
        count(counted_.reduce_sum, words.size_bytes());
        inner_.reduce_sum(words, root);
    }
    void reduce_max(std::span<std::uint64_t> words, int root) {
        count(counted_.reduce_max, words.size_bytes());
        inner_.reduce_max(words, root);
    }

    template <class Callable>
    void grouped(Callable&& callable) {
        ++counted_.groups;
        inner_.grouped(std::forward<Callable>(callable));
    }

    [[nodiscard]] agreement_log& agreements() { return inner_.agreements(); }
    [[nodiscard]] std::chrono::milliseconds deadline() const { return inner_.deadline(); }
    void set_deadline(std::chrono::milliseconds deadline) { inner_.set_deadline(deadline); }

private:
    static void count(traffic& kind, std::size_t bytes) noexcept {
        ++kind.calls;
        kind.bytes += bytes;
    }

    Communicator& inner_;
    record counted_;
};

} // namespace tally::testing
