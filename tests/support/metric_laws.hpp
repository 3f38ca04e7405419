// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of metrics, one body for all: partition, permutation, update splits, empty replicas, combine twice, update
// after combine, combine to a root, reset, snapshot at one replica count restored at another, masked padding, number of
// collectives. A metric is checked by one line:
//
//     check_metric_laws<tally::mean<>>("mean", feed::values, within(1e-12));
#pragma once

#include "support/counting_communicator.hpp"
#include "support/dataset.hpp"
#include "support/engine.hpp"

#include <doctest/doctest.h>

#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>
#include <tally/comm/thread.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::testing {

/// How equal two ways to the same result must be.
struct agreement {
    bool bitwise;
    double relative; ///< bound relative to the larger of the value and 1
};
inline constexpr agreement exactly{true, 0.0};
constexpr agreement within(double relative) { return {false, relative}; }

/// A result in a form that can be compared without knowing its type.
struct outcome {
    std::vector<std::uint64_t> words; ///< packed state, bit by bit
    std::vector<double> values;       ///< every number of the finalized value; NaN where there is none
};

template <class T>
void flatten(T const& x, std::vector<double>& out) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        out.push_back(static_cast<double>(x));
    } else if constexpr (requires { x.as_double(); }) {
        out.push_back(x.as_double());
        out.push_back(static_cast<double>(x.why()));
        out.push_back(static_cast<double>(x.dropped()));
    } else if constexpr (requires {
                             x.cells();
                             x.outside();
                         }) {
        flatten(x.cells(), out);
        out.push_back(static_cast<double>(x.outside()));
    } else if constexpr (std::ranges::range<T>) {
        for (auto const& element : x) {
            flatten(element, out);
        }
    } else {
        tally::with_fields(const_cast<T&>(x), [&](auto const&... field) { (flatten(field, out), ...); });
    }
}

/// One replica's tracker, whatever its metric.
class subject {
public:
    subject() = default;
    subject(subject const&) = delete;
    subject& operator=(subject const&) = delete;
    virtual ~subject() = default;
    virtual void update(dataset const& samples) = 0;
    virtual void update_masked(dataset const& samples) = 0;
    [[nodiscard]] virtual outcome local() const = 0;
    [[nodiscard]] virtual outcome combine(tally::thread_communicator& communicator) const = 0;
    [[nodiscard]] virtual std::optional<outcome> combine_to(tally::thread_communicator& communicator,
                                                            int root) const = 0;
    /// Collectives of the first and of a second combine.
    [[nodiscard]] virtual std::pair<std::size_t, std::size_t> count_collectives() const = 0;
    virtual void reset() = 0;
    [[nodiscard]] virtual std::vector<std::byte> snapshot(tally::thread_communicator& communicator) const = 0;
    virtual void restore(tally::thread_communicator& communicator, std::vector<std::byte> const& bytes) = 0;
};

template <class M, class Engine, class Feed, class... Sizes>
    requires tally::engine<Engine, M>
class metric_subject final : public subject {
public:
    explicit metric_subject(Feed feed, Sizes... sizes) : feed_{feed}, tracker_{sizes...} {}

    void update(dataset const& samples) override {
        feed_(samples, [&](auto const&... inputs) { tracker_.update(inputs...); });
    }
    void update_masked(dataset const& samples) override {
        feed_(samples, [&](auto const&... inputs) { tracker_.update(inputs..., tally::mask(samples.mask)); });
    }
    [[nodiscard]] outcome local() const override { return look(tracker_.finalize()); }
    [[nodiscard]] outcome combine(tally::thread_communicator& communicator) const override {
        return look(tracker_.combine(communicator));
    }
    [[nodiscard]] std::optional<outcome> combine_to(tally::thread_communicator& communicator, int root) const override {
        auto const values = tracker_.combine_to(communicator, root);
        return values ? std::optional<outcome>(look(*values)) : std::nullopt;
    }
    [[nodiscard]] std::pair<std::size_t, std::size_t> count_collectives() const override {
        tally::self_communicator self;
        counting_communicator counted{self};
        (void)tracker_.combine(counted);
        auto const first = static_cast<std::size_t>(counted.counted().total().calls);
        (void)tracker_.combine(counted);
        return {first, static_cast<std::size_t>(counted.counted().total().calls) - first};
    }
    void reset() override { tracker_.reset(); }
    [[nodiscard]] std::vector<std::byte> snapshot(tally::thread_communicator& communicator) const override {
        return tracker_.snapshot(communicator);
    }
    void restore(tally::thread_communicator& communicator, std::vector<std::byte> const& bytes) override {
        tracker_.restore(communicator, bytes);
    }

private:
    static outcome look(tally::results<M> const& values) {
        outcome result;
        auto const lanes = tally::detail::lanes_of_states(values.states());
        result.words.resize(lanes.sums + lanes.maxes + (lanes.bytes + 7) / 8);
        auto* const sums = result.words.data();
        tally::detail::pack(values.states(), sums, sums + lanes.sums,
                            reinterpret_cast<std::byte*>(sums + lanes.sums + lanes.maxes));
        values.for_each([&](auto, auto const& value) { flatten(value, result.values); });
        result.values.push_back(static_cast<double>(values.samples()));
        return result;
    }

    Feed feed_;
    typename Engine::template tracker<M> tracker_;
};

using subject_maker = std::function<std::unique_ptr<subject>()>;

inline void check_equal(outcome const& got, outcome const& expected, agreement how) {
    if (how.bitwise) {
        CHECK(got.words == expected.words);
    }
    REQUIRE(got.values.size() == expected.values.size());
    for (std::size_t i = 0; i < got.values.size(); ++i) {
        auto const a = got.values[i];
        auto const b = expected.values[i];
        CAPTURE(i);
        CAPTURE(a);
        CAPTURE(b);
        if (std::isnan(b) || std::isinf(b) || how.bitwise) {
            CHECK((a == b || (std::isnan(a) && std::isnan(b))));
        } else {
            CHECK(std::fabs(a - b) <= how.relative * std::fmax(1.0, std::fabs(b)));
        }
    }
}

inline void check_same_bits(outcome const& got, outcome const& expected) { CHECK(got.words == expected.words); }

/// Feeds samples [begin, end) in updates of random sizes, some of them empty.
inline void update_in_pieces(subject& replica, dataset const& samples, std::size_t begin, std::size_t end,
                             std::uint64_t seed) {
    std::mt19937_64 random{seed};
    while (begin < end) {
        auto const next = std::min(end, begin + random() % 70);
        replica.update(samples.slice(begin, next));
        begin = next;
    }
}

inline void check_partition_law(subject_maker const& make, dataset const& samples, outcome const& expected,
                                agreement how) {
    std::uint64_t seed = 1;
    for (int const replica_count : {1, 2, 3, 5, 8, 64}) {
        CAPTURE(replica_count);
        ++seed;
        auto const shuffled = samples.select(permutation(samples.size(), seed));
        auto const at = cuts(samples.size(), static_cast<std::size_t>(replica_count), seed);
        auto const results = tally::replicas{replica_count}.run([&](tally::thread_communicator& communicator) {
            auto const rank = static_cast<std::size_t>(communicator.rank());
            auto const replica = make();
            update_in_pieces(*replica, shuffled, at[rank], at[rank + 1], seed + rank);
            auto const before = replica->local();
            auto first = replica->combine(communicator);
            auto const second = replica->combine(communicator);
            auto const root = replica->combine_to(communicator, replica_count - 1);
            bool const untouched = replica->local().words == before.words;
            bool const repeated = first.words == second.words;
            bool const at_root =
                root.has_value() == (communicator.rank() == replica_count - 1) && (!root || root->words == first.words);
            return std::pair{std::move(first), untouched && repeated && at_root};
        });
        for (auto const& [result, kept] : results) {
            CHECK(kept);
            check_same_bits(result, results[0].first);
        }
        check_equal(results[0].first, expected, how);
    }
}

inline void check_update_after_combine(subject_maker const& make, dataset const& samples, outcome const& expected,
                                       agreement how) {
    auto const half = samples.size() / 2;
    auto const results = tally::replicas{2}.run([&](tally::thread_communicator& communicator) {
        auto const replica = make();
        auto const feed_own = [&](std::size_t begin, std::size_t end) {
            auto const middle = begin + (end - begin) / 3;
            replica->update(communicator.rank() == 0 ? samples.slice(begin, middle) : samples.slice(middle, end));
        };
        feed_own(0, half);
        (void)replica->combine(communicator);
        feed_own(half, samples.size());
        return replica->combine(communicator);
    });
    check_equal(results[0], expected, how);
}

inline void check_snapshot_law(subject_maker const& make, dataset const& samples, outcome const& expected,
                               agreement how) {
    auto const half = samples.size() / 2;
    auto const saved = tally::replicas{4}.run([&](tally::thread_communicator& communicator) {
        auto const replica = make();
        auto const rank = static_cast<std::size_t>(communicator.rank());
        replica->update(samples.slice(half * rank / 4, half * (rank + 1) / 4));
        return replica->snapshot(communicator);
    });
    for (int const replica_count : {1, 3, 8}) {
        CAPTURE(replica_count);
        auto const results = tally::replicas{replica_count}.run([&](tally::thread_communicator& communicator) {
            auto const replica = make();
            replica->update(samples.slice(0, 1)); // must be replaced
            auto const rank = static_cast<std::size_t>(communicator.rank());
            auto const size = static_cast<std::size_t>(communicator.size());
            replica->restore(communicator, saved[0]);
            auto const rest = samples.size() - half;
            replica->update(samples.slice(half + rest * rank / size, half + rest * (rank + 1) / size));
            return replica->combine(communicator);
        });
        check_equal(results[0], expected, how);
    }
}

/// Padding that is masked counts nowhere, even if it holds nonsense.
inline void check_mask_law(subject_maker const& make, dataset const& samples, outcome const& expected, agreement how) {
    auto const extra = make_dataset(samples.size(), 99, true);
    auto const order = permutation(2 * samples.size(), 77);
    auto const replica = make();
    for (std::size_t begin = 0; begin < order.size(); begin += 100) {
        dataset tile;
        for (std::size_t k = begin; k < std::min(begin + 100, order.size()); ++k) {
            bool const real = order[k] < samples.size();
            tile.append(real ? samples : extra, real ? order[k] : order[k] - samples.size());
            tile.mask.back() = static_cast<unsigned char>(real);
        }
        replica->update_masked(tile);
    }
    // The number of masked samples is part of the state, so only values are compared.
    check_equal(replica->local(), expected, within(how.relative));
}

/// For a metric on any engine whose updates take host memory.
template <class M, class Engine = engine, class Feed, class... Sizes>
void check_metric_laws(std::string const& name, Feed feed, agreement how, Sizes... sizes) {
    CAPTURE(name);
    auto const make = [=]() -> std::unique_ptr<subject> {
        return std::make_unique<metric_subject<M, Engine, Feed, Sizes...>>(feed, sizes...);
    };
    auto const fresh = make()->local();
    for (bool const bad : {false, true}) {
        CAPTURE(bad);
        auto const samples = make_dataset(613, 42, bad);
        auto const whole = make();
        whole->update(samples);
        auto const expected = whole->local();
        check_partition_law(make, samples, expected, how);
        check_update_after_combine(make, samples, expected, how);
        check_snapshot_law(make, samples, expected, how);
        check_mask_law(make, samples, expected, how);

        auto const [first, second] = whole->count_collectives();
        CHECK(second >= 1);
        CHECK(second <= 3);
        CHECK(first == second + 1); // the agreement on the layout, once
        whole->reset();
        check_same_bits(whole->local(), fresh);
    }
    // No data at all: every replica sends identities.
    auto const empty = tally::replicas{3}.run([&](tally::thread_communicator& communicator) {
        auto const replica = make();
        replica->update(dataset{});
        return replica->combine(communicator);
    });
    check_equal(empty[1], fresh, exactly);
}

} // namespace tally::testing
