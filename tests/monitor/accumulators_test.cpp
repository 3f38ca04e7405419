// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The accumulators of gradient monitors: merging, and what arrives between replicas by their words.

#include <tally/monitor/distribution.hpp>
#include <tally/monitor/largest_magnitude.hpp>
#include <tally/monitor/layer_sums.hpp>
#include <tally/monitor/name_digest.hpp>
#include <tally/monitor/replicated_value.hpp>

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/parts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace tally;

static_assert(accumulator<largest_magnitude> && accumulator<name_digest>);
static_assert(accumulator<replicated_value<count>> && accumulator<replicated_value<sum<double>, false>>);
static_assert(accumulator<layer_sums<partitioned>> && accumulator<layer_sums<replicated>>);
static_assert(sizeof(replicated_value<count, false>) == 8 && sizeof(replicated_value<count>) == 16);
static_assert(detail::travels_as_words<layer_sums<replicated>>);
static_assert(sizeof(layer_sums<partitioned>) == 704 && sizeof(layer_sums<replicated>) == 752);
static_assert(lanes_of<layer_sums<partitioned>>() == lane_sizes{87, 1, 0});

/// What all replicas hold after a combine, for accumulators that travel as words.
template <class Acc>
Acc combined(std::vector<Acc> replicas) {
    constexpr lane_sizes lanes = lanes_of<Acc>();
    std::vector<std::uint64_t> sums(lanes.sums);
    std::vector<std::uint64_t> maxes(lanes.maxes);
    for (auto& each : replicas) {
        std::vector<std::uint64_t> s(lanes.sums);
        std::vector<std::uint64_t> m(lanes.maxes);
        word_writer writer{s.data(), m.data()};
        each.travel(writer);
        for (std::size_t i = 0; i < s.size(); ++i) {
            sums[i] += s[i];
        }
        for (std::size_t i = 0; i < m.size(); ++i) {
            maxes[i] = std::max(maxes[i], m[i]);
        }
    }
    Acc result{};
    word_reader reader{sums.data(), maxes.data()};
    result.travel(reader);
    return result;
}

template <class Acc, class... X>
Acc holding(X... x) {
    Acc acc;
    (acc.deposit(x), ...);
    return acc;
}

TEST_CASE("largest_magnitude: the largest finite |x|, none without one, zero is one") {
    auto const of = [](auto... x) { return holding<largest_magnitude>(x...).value(); };
    CHECK(of(1.0F, -3.0F, 2.0F).value() == 3.0F);
    CHECK(of(-0.0F).value() == 0.0F);
    CHECK(of(FLT_TRUE_MIN, 0.0F).value() == FLT_TRUE_MIN);
    CHECK(of(-FLT_MAX, 1.0F).value() == FLT_MAX);
    CHECK(of(NAN, INFINITY, -INFINITY).why() == reason::no_samples);
    CHECK(of(NAN, 0.5F).value() == 0.5F);
    auto merged = holding<largest_magnitude>(1.0F);
    merged.merge({});
    merged.merge(holding<largest_magnitude>(-2.0F));
    CHECK(merged == holding<largest_magnitude>(2.0F));
    CHECK(combined<largest_magnitude>({{}, merged, holding<largest_magnitude>(1.0F)}) == merged);
}

TEST_CASE("replicated_value: counts once, replicas without it are not asked, a difference is seen") {
    using value = replicated_value<count>;
    auto const three = holding<value>(one, one, one);
    CHECK(combined<value>({three, three, three}) == three);
    CHECK(combined<value>({value{}, three, value{}}) == three);
    CHECK(combined<value>({value{}, value{}}) == value{});
    auto const differing = combined<value>({three, holding<value>(one, one)});
    CHECK(differing.conflict());
    CHECK(combined<value>({differing}).conflict()); // as in a snapshot
    auto merged = three;
    merged.merge(three);
    CHECK(merged.value() == 6); // inside a replica it is an ordinary count
    CHECK_FALSE(merged.conflict());
    merged.merge(differing);
    CHECK(merged.conflict());

    using unchecked = replicated_value<sum<double>, false>;
    auto const minus = holding<unchecked>(-2.5);
    CHECK(combined<unchecked>({minus, unchecked{}, minus}) == minus);
    CHECK_FALSE(combined<unchecked>({minus, holding<unchecked>(3.0)}).conflict());
    static_assert(lanes_of<unchecked>() == lane_sizes{0, 1, 0} && lanes_of<value>() == lane_sizes{0, 2, 0});
}

TEST_CASE("replicated_value: its parts merge as inside a replica, not as between replicas") {
    using value = replicated_value<count>;
    auto acc = holding<value>(one, one);
    std::uint64_t word = 0;
    detail::part_writer writer{&word};
    detail::visit_parts(acc, writer);
    CHECK(detail::count_parts<value>() == 1);
    CHECK(word == 2);
    CHECK(detail::count_parts<layer_sums<replicated>>() == detail::count_parts<layer_sums<partitioned>>());
}

TEST_CASE("name_digest: the same on all replicas, or not") {
    CHECK(combined<name_digest>({name_digest{7}, name_digest{7}}).is(7));
    CHECK(combined<name_digest>({name_digest{7}}).is(7));
    CHECK(combined<name_digest>({name_digest{0}, name_digest{0}}).is(0));
    CHECK_FALSE(combined<name_digest>({name_digest{7}, name_digest{8}}).is(7));
    CHECK_FALSE(combined<name_digest>({name_digest{7}, name_digest{8}}).is(8));
    CHECK_FALSE(name_digest{}.is(0));
    name_digest merged;
    merged.merge(name_digest{9});
    merged.merge(name_digest{9});
    CHECK(merged.is(9));
    merged.merge(name_digest{10});
    CHECK_FALSE(merged.is(9));
    CHECK_FALSE(merged.is(10));
}

template <class D>
void check_layer_sums() {
    auto a = holding<layer_sums<D>>(1.0F, -2.0F, NAN, INFINITY, -INFINITY);
    a.deposit(paired(0.5F, 4.0F));
    CHECK(a.value_sum() == -1.0);
    CHECK(a.magnitude_sum() == 3.0);
    CHECK(a.square_sum() == 5.0);
    CHECK(a.update_square_sum() == 0.25);
    CHECK(a.weight_square_sum() == 16.0);
    CHECK(a.largest_value().value() == 2.0F);
    auto const identity = layer_sums<D>{};
    auto merged = identity;
    merged.merge(a);
    merged.merge(identity);
    CHECK(merged == a);
    merged.merge(a);
    CHECK(merged.square_sum() == 10.0);

    // As an engine adds to them.
    layer_sums<D> engine;
    engine.values().deposit(-1.0F);
    engine.magnitudes().deposit(3.0F);
    engine.squares().deposit(5.0F, 1.0F);
    engine.largest().deposit(-2.0F);
    engine.updates().deposit(0.5F, 0.5F);
    engine.weights().deposit(4.0F, 4.0F);
    CHECK(engine == a);
}

TEST_CASE("layer_sums: finite gradients only, an engine's way to add, identity and merge") {
    check_layer_sums<partitioned>();
    check_layer_sums<replicated>();
    check_layer_sums<sharded>();
}

TEST_CASE("layer_sums: a squared gradient that overflows float does not overflow") {
    auto const a = holding<layer_sums<partitioned>>(1e30F, -1e30F);
    CHECK(a.square_sum() == doctest::Approx(2e60));
    CHECK(a.value_sum() == 0.0);
}

TEST_CASE("layer_sums: replicated ones count once and tell a difference") {
    using value = layer_sums<replicated>;
    auto const a = holding<value>(1.0F, -2.0F);
    auto const all = combined<value>({a, value{}, a});
    CHECK(all.value_sum() == -1.0);
    CHECK(all.square_sum() == 5.0);
    CHECK_FALSE(all.conflict());
    CHECK(combined<value>({a, holding<value>(1.0F, -3.0F)}).conflict());
}

} // namespace
