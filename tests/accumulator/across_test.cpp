// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/across.hpp>
#include <tally/accumulator/arg_extrema.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/extrema.hpp>
#include <tally/accumulator/log_sum_exp.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace op = tally::op;
using tally::across;

static_assert(tally::accumulator<across<op::max, tally::sum<double>>>);
static_assert(tally::lanes_of<across<op::max, tally::sum<double>>>() == tally::lane_sizes{1, 1, 0});
static_assert(tally::lanes_of<across<op::min, tally::count>>() == tally::lane_sizes{1, 1, 0});
static_assert(tally::lanes_of<across<op::sum, tally::count>>() == tally::lane_sizes{2, 0, 0});
static_assert(tally::lanes_of<across<op::replicated, tally::sum<double>>>() == tally::lane_sizes{0, 0, 24});
static_assert(tally::lanes_of<across<op::first, tally::moments>>().sums == 0);
// It takes what the accumulator takes, and no more.
static_assert(tally::accepts<across<op::max, tally::count>, tally::one_t>);
static_assert(!tally::accepts<across<op::max, tally::count>, float>);
static_assert(!tally::accepts_weighted<across<op::max, tally::count>, tally::one_t, float>);
static_assert(tally::accepts_weighted<across<op::max, tally::sum<double>>, float, float>);

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Acc with these deposits, or with none.
template <class Acc>
Acc with(std::vector<double> const& deposits) {
    Acc a;
    for (auto const x : deposits) {
        a.deposit(x);
    }
    return a;
}

/// What a communicator does with accumulators that travel as words.
template <class Acc>
Acc combine_words(std::vector<Acc> replicas) {
    std::vector<std::uint64_t> sums(8);
    std::vector<std::uint64_t> maxes(8);
    for (auto& each : replicas) {
        std::vector<std::uint64_t> my_sums(8);
        std::vector<std::uint64_t> my_maxes(8);
        tally::word_writer writer{my_sums.data(), my_maxes.data()};
        each.travel(writer);
        for (std::size_t i = 0; i < 8; ++i) {
            sums[i] += my_sums[i];
            maxes[i] = std::max(maxes[i], my_maxes[i]);
        }
    }
    Acc result;
    tally::word_reader reader{sums.data(), maxes.data()};
    result.travel(reader);
    return result;
}

/// What it does with the others: folds them in rank order.
template <class Acc>
Acc combine_folded(std::vector<Acc> const& replicas) {
    Acc result;
    for (auto const& each : replicas) {
        tally::fold(result, each);
    }
    return result;
}

template <class Acc>
std::vector<Acc> replicas_with(std::vector<std::vector<double>> const& deposits) {
    std::vector<Acc> replicas;
    for (auto const& each : deposits) {
        replicas.push_back(with<Acc>(each));
    }
    return replicas;
}

/// Words and fold must agree: a table cell may hold the accumulator among others that are gathered.
template <class Op>
std::optional<double> extreme_of(std::vector<std::vector<double>> const& deposits) {
    using seconds = across<Op, tally::sum<double>>;
    auto const words = combine_words(replicas_with<seconds>(deposits));
    auto const folded = combine_folded(replicas_with<seconds>(deposits));
    CHECK(words.deposits() == folded.deposits());
    CHECK(std::isnan(words.value()) == std::isnan(folded.value()));
    if (!std::isnan(words.value())) {
        CHECK(words.value() == folded.value());
        CHECK(std::signbit(words.value()) == std::signbit(folded.value()));
    }
    return words.deposits() == 0 ? std::nullopt : std::optional<double>(words.value());
}

/// A user's own operation: the product of the replicas' sums.
struct product {
    template <class Acc>
    static constexpr void merge(Acc& into, Acc const& next) {
        into = Acc{into.value() * next.value()};
    }
};

/// Order matters to this one.
struct subtract_next {
    template <class Acc>
    static constexpr void merge(Acc& into, Acc const& next) {
        into = Acc{into.value() - next.value()};
    }
};

} // namespace

TEST_CASE("across<max, sum>: adds inside a replica, the slowest replica counts") {
    CHECK(extreme_of<op::max>({{1.0, 2.0}, {4.0}, {0.5, 0.5}}) == 4.0);
    CHECK(extreme_of<op::min>({{1.0, 2.0}, {4.0}, {0.5, 0.5}}) == 1.0);
    CHECK(extreme_of<op::max>({{-1.0, -2.0}, {-4.0}}) == -3.0);
    CHECK(extreme_of<op::min>({{-infinity}, {4.0}}) == -infinity);
    CHECK(extreme_of<op::max>({{-infinity}, {-std::numeric_limits<double>::max()}}) ==
          -std::numeric_limits<double>::max());
}

TEST_CASE("across<max, sum>: replicas without data contribute nothing, neither 0 nor a lowest value") {
    CHECK(extreme_of<op::max>({{}, {-4.0}, {}}) == -4.0);
    CHECK(extreme_of<op::min>({{}, {4.0}, {}}) == 4.0);
    CHECK(extreme_of<op::max>({{}, {}}) == std::nullopt);
    CHECK(extreme_of<op::min>({{}, {0.0}}) == 0.0); // a sum of zero is data
    CHECK(extreme_of<op::max>({{}, {-infinity}}) == -infinity);
}

TEST_CASE("across<max, sum>: NaN of either sign on any replica gives NaN") {
    for (double const nan : {not_a_number, -not_a_number, infinity - infinity}) {
        for (auto const& deposits : {std::vector<std::vector<double>>{{nan}, {1.0}}, {{1.0}, {nan}, {-1.0}}}) {
            CHECK(std::isnan(extreme_of<op::max>(deposits).value()));
            CHECK(std::isnan(extreme_of<op::min>(deposits).value()));
        }
    }
}

TEST_CASE("across<max, count>: integers keep all their bits") {
    using largest = across<op::max, tally::count>;
    using smallest = across<op::min, tally::count>;
    std::vector<largest> a(3);
    a[0].deposit(~std::uint64_t{0});
    a[1].deposit(std::uint64_t{1} << 63);
    CHECK(combine_words(a).value() == ~std::uint64_t{0});
    CHECK(combine_folded(a).value() == ~std::uint64_t{0});
    std::vector<smallest> b(3);
    b[0].deposit((std::uint64_t{1} << 53) + 1);
    b[2].deposit((std::uint64_t{1} << 53) + 2);
    CHECK(combine_words(b).value() == (std::uint64_t{1} << 53) + 1);
    CHECK(combine_folded(b).value() == (std::uint64_t{1} << 53) + 1);
}

TEST_CASE("across<sum, Acc>: the same as Acc, with the deposits counted") {
    std::vector<across<op::sum, tally::count>> counts(2);
    counts[0].deposit(3);
    counts[1].deposit(tally::one);
    CHECK(combine_words(counts).value() == 4);
    CHECK(combine_words(counts).deposits() == 2);
    auto const sums = replicas_with<across<op::sum, tally::sum<double>>>({{1.5}, {}, {2.0, 3.0}});
    CHECK(combine_folded(sums).value() == 6.5);
    CHECK(combine_folded(sums).deposits() == 3);
}

TEST_CASE("across<replicated, Acc>: counts once, and says where replicas differ") {
    using norm = across<op::replicated, tally::sum<double>>;
    auto const same = combine_folded(replicas_with<norm>({{1.0, 2.0}, {3.0}, {}, {1.5, 1.5}}));
    CHECK(same.value() == 3.0);
    CHECK(!same.conflict());
    auto const different = combine_folded(replicas_with<norm>({{3.0}, {3.0}, {3.0 + 0x1p-50}}));
    CHECK(different.conflict());
    CHECK(different.value() == 3.0);
    // The conflict stays if the result is folded on.
    CHECK(combine_folded<norm>({norm{}, different}).conflict());
    CHECK(combine_folded<norm>({with<norm>({3.0}), different, norm{}}).conflict());
    // Identical NaN are no difference; a NaN beside a number is.
    CHECK(!combine_folded(replicas_with<norm>({{not_a_number}, {not_a_number}})).conflict());
    CHECK(combine_folded(replicas_with<norm>({{not_a_number}, {1.0}})).conflict());
}

TEST_CASE("across<first, Acc>: the lowest rank that has data") {
    using each = across<op::first, tally::sum<double>>;
    CHECK(combine_folded(replicas_with<each>({{}, {5.0}, {7.0}})).value() == 5.0);
    CHECK(combine_folded(replicas_with<each>({{0.0}, {5.0}})).value() == 0.0);
    CHECK(combine_folded(replicas_with<each>({{}, {}})).deposits() == 0);
}

TEST_CASE("across<ordered, Acc>: merges in rank order, for accumulators of any kind") {
    auto const spread = combine_folded(replicas_with<across<op::ordered, tally::moments>>({{1.0, 2.0}, {}, {6.0}}));
    CHECK(spread.get().mean() == 3.0);
    CHECK(spread.get().m2() == 14.0);
    auto const total = combine_folded(replicas_with<across<op::ordered, tally::log_sum_exp>>({{0.0}, {0.0}}));
    CHECK(total.value().value() == doctest::Approx(std::log(2.0)).epsilon(1e-15));
    auto const smallest =
        combine_folded(replicas_with<across<op::ordered, tally::minimum<double>>>({{4.0}, {3.0}, {}}));
    CHECK(smallest.value().value() == 3.0);
}

TEST_CASE("across<user's op, Acc>: applied in rank order, between replicas with data only") {
    using factors = across<product, tally::sum<double>>;
    CHECK(combine_folded(replicas_with<factors>({{1.0, 1.0}, {}, {3.0}, {5.0}})).value() == 30.0);
    CHECK(combine_folded(replicas_with<factors>({{}, {7.0}})).value() == 7.0);
    using differences = across<subtract_next, tally::sum<double>>;
    CHECK(combine_folded(replicas_with<differences>({{10.0}, {3.0}, {2.0}})).value() == 5.0);
    CHECK(combine_folded(replicas_with<differences>({{3.0}, {2.0}, {10.0}})).value() == -9.0);
}

TEST_CASE("across: parts of one replica are merged by the accumulator, not by the operation") {
    auto parts = replicas_with<across<op::max, tally::sum<double>>>({{1.0}, {4.0, 2.0}});
    parts[0].merge(parts[1]);
    CHECK(parts[0].value() == 7.0);
    CHECK(parts[0].deposits() == 3);
    auto products = replicas_with<across<product, tally::sum<double>>>({{2.0}, {3.0}});
    products[0].merge(products[1]);
    CHECK(products[0].value() == 5.0);
}

TEST_CASE("across: blocks and weights reach the accumulator") {
    across<op::max, tally::sum<double>> a;
    float const x[] = {1.0F, 2.0F, 3.0F, 4.0F};
    float const w[] = {1.0F, 0.0F, 0.5F, -1.0F};
    tally::deposit_block(a, x, 4);
    CHECK(a.value() == 10.0);
    CHECK(a.deposits() == 4);
    tally::deposit_block(a, x, w, 4);
    CHECK(a.value() == 8.5);
    CHECK(a.deposits() == 8);
    a.deposit(2.0F, 0.25F);
    CHECK(a.value() == 9.0);
    across<op::first, tally::count> counted;
    tally::deposit_block(counted, &tally::one, 5);
    CHECK(counted.value() == 5);
    CHECK(counted.deposits() == 5);
    tally::deposit_block(a, x, 0);
    CHECK(a.deposits() == 9);
}
