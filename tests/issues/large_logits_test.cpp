// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: a softmax through log_sum_exp as one number, which near a large logit has no digits left. A softmax
// does not change when a constant is added to all logits. Every sum of logit and constant here is exact in its type.
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/metric/brier_score.hpp>
#include <tally/metric/calibration_error.hpp>
#include <tally/metric/log_loss.hpp>
#include <tally/metric/one_vs_rest.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

/// Mean over the matrix of class_probability(c) * (c + 1); the elements above 1 or NaN are dropped.
struct weighted_class {
    struct state {
        default_sum<double> total;
        count samples;
        occurrences dropped;
    };
    TALLY_HD static auto observe(column_index column, class_probability<float> p) {
        bool const valid = p.value >= 0.0F && p.value <= 1.0F;
        double const value = static_cast<double>(p.value) * static_cast<double>(column.value + 1);
        return contribute(when(valid, value), when(valid, one), when(!valid, one));
    }
    TALLY_HD static auto finalize(state const& s) { return ratio(s.total, s.samples).with_dropped(s.dropped.value()); }
};

/// Mean of max_probability; those above 1 or NaN are dropped.
struct mean_confidence {
    struct state {
        default_sum<double> total;
        count samples;
        occurrences dropped;
    };
    TALLY_HD static auto observe(max_probability<float> p) {
        bool const valid = p.value >= 0.0F && p.value <= 1.0F;
        return contribute(when(valid, static_cast<double>(p.value)), when(valid, one), when(!valid, one));
    }
    TALLY_HD static auto finalize(state const& s) { return ratio(s.total, s.samples).with_dropped(s.dropped.value()); }
};

/// Mean of row_log_sum_exp.
struct mean_log_sum_exp {
    struct state {
        default_sum<double> total;
        count samples;
    };
    TALLY_HD static auto observe(row_log_sum_exp<double> x) { return contribute(x.value, one); }
    TALLY_HD static auto finalize(state const& s) { return ratio(s.total, s.samples); }
};

template <class T>
struct batch {
    std::size_t columns;
    std::vector<T> logits;
    std::vector<int> labels;
};

/// Rows of logits that are multiples of `step`, around `offset`.
template <class T>
batch<T> rows_at(double offset, double step, std::size_t columns) {
    std::mt19937 random(31);
    batch<T> b{columns, {}, {}};
    bool exact = true; // or the test would compare other logits
    for (int row = 0; row < 100; ++row) {
        b.labels.push_back(static_cast<int>(random() % columns));
        for (std::size_t c = 0; c < columns; ++c) {
            double const logit = static_cast<double>(random() % 6) * step;
            T const moved = static_cast<T>(logit + offset);
            exact = exact && static_cast<double>(moved) - offset == logit;
            b.logits.push_back(moved);
        }
    }
    REQUIRE(exact);
    return b;
}

template <class M, class T>
double value_on(batch<T> const& b) {
    auto const result = value_of<M>(scores(b.logits, b.columns), targets(b.labels));
    CHECK(result.dropped() == 0);
    return result.value();
}

template <class M, class T>
double value_on_scores(batch<T> const& b) {
    auto const result = value_of<M>(scores(b.logits, b.columns));
    CHECK(result.dropped() == 0);
    return result.value();
}

/// The offset cancels exactly, so not a bit may differ.
template <class T>
void check_offset(double offset, double step) {
    for (std::size_t const columns : {2UL, 10UL, 48UL, 49UL, 1000UL}) {
        CAPTURE(offset);
        CAPTURE(columns);
        batch<T> const plain = rows_at<T>(0.0, step, columns), moved = rows_at<T>(offset, step, columns);
        CHECK(value_on<log_loss<T>>(moved) == value_on<log_loss<T>>(plain));
        CHECK(value_on<perplexity<T>>(moved) == value_on<perplexity<T>>(plain));
        CHECK(value_on<multiclass_brier_score<T>>(moved) == value_on<multiclass_brier_score<T>>(plain));
        CHECK(value_on<calibration_error<>>(moved) == value_on<calibration_error<>>(plain));
        CHECK(value_on_scores<weighted_class>(moved) == value_on_scores<weighted_class>(plain));
        CHECK(value_on_scores<mean_confidence>(moved) == value_on_scores<mean_confidence>(plain));
        // The role is the sum itself, in double here, which has its own rounding at the offset; a mean adds another.
        double const before = value_on_scores<mean_log_sum_exp>(plain);
        double const after = value_on_scores<mean_log_sum_exp>(moved);
        CHECK(std::fabs(after - offset - before) <= std::numeric_limits<double>::epsilon() * (std::fabs(offset) + 10));
    }
}

double slow_log_loss(batch<float> const& b) {
    long double total = 0;
    for (std::size_t r = 0; r < b.labels.size(); ++r) {
        float const* const row = b.logits.data() + r * b.columns;
        long double sum = 0;
        long double const target = row[b.labels[r]];
        for (std::size_t c = 0; c < b.columns; ++c) sum += std::exp(static_cast<long double>(row[c]) - target);
        total += std::log(sum);
    }
    return static_cast<double>(total / static_cast<long double>(b.labels.size()));
}

constexpr float inf = std::numeric_limits<float>::infinity();

} // namespace

TEST_CASE("large logits: equal ones give the uniform distribution, however large") {
    for (float const logit : {0.0F, 1e3F, -1e3F, 1e5F, 1e8F, -1e8F, 1e30F, -1e30F, 3e38F}) {
        for (std::size_t const columns : {10UL, 1000UL}) {
            CAPTURE(logit);
            CAPTURE(columns);
            double const n = static_cast<double>(columns);
            batch<float> const b{columns, std::vector<float>(2 * columns, logit), {3, 4}};
            CHECK(value_on<log_loss<>>(b) == near(std::log(n), 1e-7));
            CHECK(value_on<perplexity<>>(b) == near(n, 1e-6));
            CHECK(value_on<multiclass_brier_score<>>(b) == near(1.0 - 1.0 / n, 1e-6));
            CHECK(value_on<calibration_error<>>(b) == near(1.0 / n, 1e-6)); // confident by 1/n, never right
            CHECK(value_on_scores<weighted_class>(b) == near((n + 1) / 2 / n, 1e-6));
            CHECK(value_on_scores<mean_confidence>(b) == near(1.0 / n, 1e-6));
        }
    }
}

TEST_CASE("large logits: three in steps of 1") {
    for (float const first : {0.0F, 1e3F, 1e4F, 1e5F, 8388608.0F, -8388608.0F}) {
        CAPTURE(first);
        batch<float> const b{3, {first, first + 1, first + 2}, {0}};
        double const sum = 1 + std::exp(1.0) + std::exp(2.0);
        CHECK(value_on<log_loss<>>(b) == near(std::log(sum), 2e-7));
        CHECK(value_on_scores<weighted_class>(b) == near((1 + 2 * std::exp(1.0) + 3 * std::exp(2.0)) / sum / 3, 2e-7));
        CHECK(value_on_scores<mean_confidence>(b) == near(std::exp(2.0) / sum, 2e-7));
        CHECK(value_on_scores<mean_log_sum_exp>(b) - static_cast<double>(first) == doctest::Approx(std::log(sum)));
    }
}

TEST_CASE("large logits: floats, the same bits with and without an offset") {
    check_offset<float>(1e3, 0.5);
    check_offset<float>(1e5, 0.125);
    check_offset<float>(-1e5, 0.125);
    check_offset<float>(1e8, 8.0);
}

TEST_CASE("large logits: doubles, the same bits with and without an offset") {
    check_offset<double>(1e3, 0.5);
    check_offset<double>(1e5, 0.125);
    check_offset<double>(1e8, 0.25);
    check_offset<double>(-1e14, 0.25);
}

TEST_CASE("large logits: the log loss of floats is right, not only stable") {
    for (double const offset : {0.0, 1e3, 1e5}) {
        for (std::size_t const columns : {10UL, 1000UL}) {
            batch<float> const b = rows_at<float>(offset, 0.5, columns);
            CHECK(value_on<log_loss<>>(b) == near(slow_log_loss(b), 2e-7));
        }
    }
}

TEST_CASE("large logits: rows without a softmax have none") {
    float const nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::vector<float>> const rows{{nan, 1e8F, 0}, {-inf, -inf, -inf}};
    for (auto const& row : rows) {
        auto const loss = value_of<log_loss<>>(scores(row, 3), targets(std::vector<int>{1}));
        CHECK(loss.dropped() == 1);
        CHECK_FALSE(loss.has_value());
        CHECK(value_of<mean_confidence>(scores(row, 3)).dropped() == 1);
        CHECK(value_of<weighted_class>(scores(row, 3)).dropped() == 3);
    }
    // +inf - inf is NaN for that class; the finite ones have probability 0.
    std::vector<float> const row{inf, 1e8F, -inf};
    CHECK(value_of<log_loss<>>(scores(row, 3), targets(std::vector<int>{0})).dropped() == 1);
    double const infinity = std::numeric_limits<double>::infinity();
    CHECK(value_of<log_loss<>>(scores(row, 3), targets(std::vector<int>{1})).value() == infinity);
    CHECK(value_of<mean_confidence>(scores(row, 3)).dropped() == 1);
    auto const classes = value_of<weighted_class>(scores(row, 3));
    CHECK(classes.dropped() == 1);
    CHECK(classes.value() == 0.0);
    CHECK(value_of<mean_log_sum_exp>(scores(row, 3)).value() == infinity);
    CHECK(value_of<mean_log_sum_exp>(scores(rows[1], 3)).value() == -infinity);
}
