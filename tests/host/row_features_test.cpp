// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features against slow, obvious code in long double, at every instruction set that this CPU has: sizes around
// vector and block borders, ties, NaN, infinities, huge scores, bad targets, unaligned and padded rows.
#include <tally/host/row_features.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace tally::host;
using detail::isa;

constexpr unsigned all_needs = row_need::arg_max | row_need::max_score | row_need::target_rank |
                               row_need::target_score | row_need::log_sum_exp | row_need::sum_squares;

template <class T>
struct reference {
    std::int32_t arg_max = -1, greater = 0, equal_before = 0, equal_after = 0;
    long double max_score = -INFINITY, target_score = NAN, log_sum = NAN, sum_squares = NAN;
};

template <class T>
reference<T> slow_features(T const* row, std::size_t columns, std::int32_t target) {
    reference<T> r;
    bool const valid = target >= 0 && static_cast<std::size_t>(target) < columns;
    r.greater = static_cast<std::int32_t>(columns);
    if (valid) r.target_score = row[target];
    if (std::any_of(row, row + columns, [](T s) { return std::isnan(s); })) {
        r.max_score = NAN;
        return r;
    }
    for (std::size_t i = 0; i < columns; ++i) {
        if (i == 0 || row[i] > r.max_score) {
            r.max_score = row[i];
            r.arg_max = static_cast<std::int32_t>(i);
        }
    }
    if (valid) {
        T const t = row[target];
        r.greater = static_cast<std::int32_t>(std::count_if(row, row + columns, [t](T s) { return s > t; }));
        r.equal_before = static_cast<std::int32_t>(std::count(row, row + target, t));
        r.equal_after = static_cast<std::int32_t>(std::count(row + target + 1, row + columns, t));
    }
    r.log_sum = 0;
    if (std::isinf(r.max_score)) return r;
    long double sum = 0, squares = 0;
    for (std::size_t i = 0; i < columns; ++i) {
        long double const e = std::exp(static_cast<long double>(row[i]) - r.max_score);
        sum += e;
        squares += e * e;
    }
    r.log_sum = std::log(sum);
    r.sum_squares = squares / (sum * sum);
    return r;
}

/// NaN equals NaN, and infinities are exact.
bool close(long double got, long double want, long double tolerance) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(want)) return got == want;
    return std::fabs(got - want) <= tolerance;
}

/// Rows of T, each ending where the padding of the stride begins; nothing may be read behind the last row's end.
template <class T>
struct matrix {
    std::size_t columns, rows, stride, shift;
    std::vector<T> data;

    matrix(std::size_t columns_, std::size_t rows_, std::size_t padding = 0, std::size_t shift_ = 0)
        : columns(columns_), rows(rows_), stride(columns_ + padding), shift(shift_),
          data(shift_ + (rows_ == 0 ? 0 : (rows_ - 1) * stride + columns_), std::numeric_limits<T>::quiet_NaN()) {}

    T* row(std::size_t r) { return data.data() + shift + r * stride; }
    [[nodiscard]] T const* row(std::size_t r) const { return data.data() + shift + r * stride; }
};

template <class T, class F>
void fill(matrix<T>& m, F const& f) {
    for (std::size_t r = 0; r < m.rows; ++r) {
        for (std::size_t c = 0; c < m.columns; ++c) m.row(r)[c] = static_cast<T>(f(r, c));
    }
}

template <unsigned Needs, isa Level, class T>
row_tile<T> features(matrix<T> const& m, std::vector<std::int32_t> const& targets) {
    row_tile<T> out;
    std::memset(&out, 0x5a, sizeof out);
    detail::kernels<Level>::template row_features<Needs>(m.row(0), m.stride, m.columns, m.rows, targets.data(), out);
    return out;
}

template <isa Level, class T>
void check_matrix(std::string const& what, matrix<T> const& m, std::vector<std::int32_t> const& targets,
                  std::vector<reference<T>> const& wanted) {
    CAPTURE(what);
    CAPTURE(m.columns);
    CAPTURE(sizeof(T));
    CAPTURE(static_cast<int>(Level));
    row_tile<T> const got = features<all_needs, Level>(m, targets);
    long double const unit = std::numeric_limits<T>::epsilon() / 2;
    int wrong = 0;
    for (std::size_t r = 0; r < m.rows; ++r) {
        reference<T> const& want = wanted[r];
        // Summing: 2.4 units from exp, the rest from rounding the sum; then the logarithm. The scores don't count.
        long double const tolerance = unit * (20 + 2 * want.log_sum);
        bool const right = got.arg_max[r] == want.arg_max && close(got.max_score[r], want.max_score, 0) &&
                           got.greater[r] == want.greater && got.equal_before[r] == want.equal_before &&
                           got.equal_after[r] == want.equal_after && close(got.target_score[r], want.target_score, 0) &&
                           close(got.log_sum[r], want.log_sum, tolerance) && !(got.log_sum[r] < 0) &&
                           close(got.sum_squares[r], want.sum_squares, 60 * unit * want.sum_squares);
        if (right) continue;
        if (++wrong > 1) continue;
        CAPTURE(r);
        CAPTURE(targets[r]);
        CHECK(got.arg_max[r] == want.arg_max);
        CHECK(static_cast<double>(got.max_score[r]) == static_cast<double>(want.max_score));
        CHECK(got.greater[r] == want.greater);
        CHECK(got.equal_before[r] == want.equal_before);
        CHECK(got.equal_after[r] == want.equal_after);
        CHECK(static_cast<double>(got.target_score[r]) == static_cast<double>(want.target_score));
        CHECK(static_cast<double>(got.log_sum[r]) == static_cast<double>(want.log_sum));
        CHECK(static_cast<double>(got.sum_squares[r]) == static_cast<double>(want.sum_squares));
    }
    CHECK(wrong == 0);
}

template <class T>
void check_levels(std::string const& what, matrix<T> const& m, std::vector<std::int32_t> const& targets) {
    std::vector<reference<T>> want;
    for (std::size_t r = 0; r < m.rows; ++r) want.push_back(slow_features(m.row(r), m.columns, targets[r]));
    check_matrix<isa::baseline>(what, m, targets, want);
#if defined(__x86_64__)
    if (detail::cpu_has(isa::avx2)) check_matrix<isa::avx2>(what, m, targets, want);
    if (detail::cpu_has(isa::avx512)) check_matrix<isa::avx512>(what, m, targets, want);
#endif
}

std::vector<std::int32_t> spread_targets(std::size_t columns, std::size_t rows, std::mt19937& random) {
    std::vector<std::int32_t> t(rows);
    for (std::size_t r = 0; r < rows; ++r) {
        switch (r % 8) {
        case 0: t[r] = 0; break;
        case 1: t[r] = static_cast<std::int32_t>(columns) - 1; break;
        case 2: t[r] = r % 16 == 2 ? -1 : static_cast<std::int32_t>(columns); break;
        case 3: t[r] = r % 16 == 3 ? INT_MIN : INT_MAX; break;
        default: t[r] = columns == 0 ? 0 : static_cast<std::int32_t>(random() % columns);
        }
    }
    return t;
}

constexpr std::size_t sizes[] = {0,    1,    2,    3,    7,    9,    10,   15,   16,   17,  31,
                                 32,   33,   34,   47,   63,   64,   65,   100,  127,  128, 129,
                                 1000, 1024, 1025, 2047, 2048, 2049, 2050, 2055, 2079, 4097};

template <class T, class F>
void each_size(std::string const& what, F const& fill_in, std::size_t rows = 24) {
    std::mt19937 random(7);
    for (std::size_t const columns : sizes) {
        matrix<T> m(columns, rows);
        fill_in(m, random);
        check_levels(what, m, spread_targets(columns, rows, random));
    }
}

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float qnan = std::numeric_limits<float>::quiet_NaN();

} // namespace

TEST_CASE_TEMPLATE("row_features: random scores match the reference", T, float, double) {
    std::normal_distribution<double> normal(0, 4);
    each_size<T>("normal", [&](auto& m, auto& g) { fill(m, [&](auto, auto) { return normal(g); }); });
    each_size<T>("narrow", [&](auto& m, auto& g) { fill(m, [&](auto, auto) { return normal(g) * 1e-4; }); });
    each_size<T>("offset", [&](auto& m, auto& g) { fill(m, [&](auto, auto) { return 100 + normal(g); }); });
    each_size<T>("ascending", [&](auto& m, auto&) { fill(m, [&](auto r, auto c) { return 0.01 * double(r + c); }); });
    each_size<T>("descending", [&](auto& m, auto&) { fill(m, [&](auto r, auto c) { return -0.5 * double(r + c); }); });
}

TEST_CASE_TEMPLATE("row_features: ties keep the lowest index and are counted by side", T, float, double) {
    each_size<T>("all equal", [](auto& m, auto&) { fill(m, [](auto, auto) { return 1.25; }); });
    each_size<T>("few values", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return int(g() % 5) - 2; }); });
    each_size<T>("two values", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 2; }); });
    each_size<T>("signed zeros", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 2 ? 0.0 : -0.0; }); });
    each_size<T>("pair of maxima", [](auto& m, auto& g) {
        fill(m, [](auto, auto) { return 0; });
        for (std::size_t r = 0; r < m.rows && m.columns > 0; ++r) {
            m.row(r)[g() % m.columns] = 3;
            m.row(r)[g() % m.columns] = 3;
        }
    });
}

TEST_CASE_TEMPLATE("row_features: a NaN anywhere makes the row invalid", T, float, double) {
    std::normal_distribution<double> normal(0, 4);
    each_size<T>("one NaN", [&](auto& m, auto& g) {
        fill(m, [&](auto, auto) { return normal(g); });
        if (m.columns == 0) return;
        for (std::size_t r = 0; r < m.rows; ++r) {
            if (r % 5 == 4) continue; // a clean row between
            std::size_t const places[] = {0, m.columns - 1, m.columns / 2, g() % m.columns};
            m.row(r)[places[r % 4]] = std::numeric_limits<T>::quiet_NaN();
        }
    });
    for (std::size_t const columns : {10UL, 17UL, 33UL, 100UL, 137UL, 1000UL}) { // every place in turn
        matrix<T> m(columns, 1);
        for (std::size_t c = 0; c < columns; ++c) {
            fill(m, [&](auto, auto i) { return double(i % 7); });
            m.row(0)[c] = -std::numeric_limits<T>::quiet_NaN();
            check_levels("NaN in turn", m, {static_cast<std::int32_t>(columns / 3)});
        }
    }
    each_size<T>("all NaN", [](auto& m, auto&) { fill(m, [](auto, auto) { return qnan; }); });
    each_size<T>("NaN and -inf", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 9 ? -inf : qnan; }); });
    each_size<T>("NaN and +inf", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 9 ? inf : qnan; }); });
}

TEST_CASE_TEMPLATE("row_features: infinities and huge scores", T, float, double) {
    std::normal_distribution<double> normal(0, 4);
    each_size<T>("masked", [&](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 4 ? -inf : normal(g); }); });
    each_size<T>("masked from the front", [&](auto& m, auto& g) {
        fill(m, [&](auto, auto c) { return 8 * c < 7 * m.columns ? double(-inf) : normal(g) - 200; });
    });
    each_size<T>("all -inf", [](auto& m, auto&) { fill(m, [](auto, auto) { return -inf; }); });
    each_size<T>("all +inf", [](auto& m, auto&) { fill(m, [](auto, auto) { return inf; }); });
    each_size<T>("one +inf", [](auto& m, auto& g) {
        fill(m, [](auto, auto c) { return double(c % 3); });
        for (std::size_t r = 0; r < m.rows && m.columns > 0; ++r) m.row(r)[g() % m.columns] = inf;
    });
    each_size<T>("both infinities",
                 [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 3 ? -inf : inf; }); });
    each_size<T>("+-100", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 2 ? 100 : -100; }); });
    each_size<T>("+-1e30", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 2 ? 1e30 : -1e30; }); });
    each_size<T>("+-max", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return g() % 2 ? FLT_MAX : -FLT_MAX; }); });
    each_size<T>("wide", [&](auto& m, auto& g) { fill(m, [&](auto, auto) { return 30 * normal(g); }); });
    each_size<T>("steps of 50", [](auto& m, auto&) { fill(m, [](auto, auto c) { return 50.0 * double(c / 300); }); });
    each_size<T>("subnormal", [](auto& m, auto& g) { fill(m, [&](auto, auto) { return double(g() % 9) * 1e-45; }); });
}

TEST_CASE_TEMPLATE("row_features: alignment, padding and neighbours don't change a bit", T, float, double) {
    std::mt19937 random(11);
    std::normal_distribution<double> normal(0, 4);
    for (std::size_t const columns : {1UL, 10UL, 31UL, 33UL, 100UL, 1000UL, 2055UL}) {
        matrix<T> plain(columns, tile_rows);
        fill(plain, [&](auto, auto) { return normal(random); });
        auto const targets = spread_targets(columns, tile_rows, random);
        check_levels("full tile", plain, targets);
        auto const compare = [&]<isa Level>(std::integral_constant<isa, Level>) {
            row_tile<T> const whole = features<all_needs, Level>(plain, targets);
            for (std::size_t const shift : {1UL, 3UL, 8UL}) {
                matrix<T> moved(columns, tile_rows, 5, shift);
                fill(moved, [&](auto r, auto c) { return plain.row(r)[c]; });
                row_tile<T> const got = features<all_needs, Level>(moved, targets);
                CHECK(std::memcmp(&got, &whole, sizeof whole) == 0);
            }
            for (std::size_t r = 0; r < tile_rows; ++r) {
                matrix<T> alone(columns, 1);
                fill(alone, [&](auto, auto c) { return plain.row(r)[c]; });
                row_tile<T> const got = features<all_needs, Level>(alone, {targets[r]});
                bool const same = got.arg_max[0] == whole.arg_max[r] && got.greater[0] == whole.greater[r] &&
                                  std::memcmp(&got.log_sum[0], &whole.log_sum[r], sizeof(T)) == 0 &&
                                  std::memcmp(&got.sum_squares[0], &whole.sum_squares[r], sizeof(T)) == 0;
                CHECK(same);
            }
        };
        compare(std::integral_constant<isa, isa::baseline>{});
#if defined(__x86_64__)
        if (detail::cpu_has(isa::avx2)) compare(std::integral_constant<isa, isa::avx2>{});
        if (detail::cpu_has(isa::avx512)) compare(std::integral_constant<isa, isa::avx512>{});
#endif
    }
}

namespace {

/// What is asked for alone equals what comes with everything, and nothing else is written.
template <unsigned Needs, class T>
void check_subset(matrix<T> const& m, std::vector<std::int32_t> const& targets) {
    CAPTURE(Needs);
    CAPTURE(m.columns);
    row_tile<T> everything, got, untouched;
    std::memset(&untouched, 0x5a, sizeof untouched);
    std::memset(&got, 0x5a, sizeof got);
    row_features<all_needs>(m.row(0), m.stride, m.columns, m.rows, targets.data(), everything);
    row_features<Needs>(m.row(0), m.stride, m.columns, m.rows, targets.data(), got);
    auto const same = [&](auto const& field, row_need need, row_need implied_by = {}) {
        bool const asked = has(Needs, need) || has(Needs, implied_by);
        return std::memcmp(field(got), field(asked ? everything : untouched), m.rows * 4) == 0;
    };
    CHECK(same([](auto const& t) { return t.arg_max; }, row_need::arg_max));
    CHECK(same([](auto const& t) { return t.greater; }, row_need::target_rank));
    CHECK(same([](auto const& t) { return t.equal_before; }, row_need::target_rank));
    CHECK(same([](auto const& t) { return t.equal_after; }, row_need::target_rank));
    static_assert(sizeof(T) == 4);
    CHECK(same([](auto const& t) { return t.max_score; }, row_need::max_score, row_need::log_sum_exp));
    CHECK(same([](auto const& t) { return t.target_score; }, row_need::target_score));
    CHECK(same([](auto const& t) { return t.log_sum; }, row_need::log_sum_exp));
    CHECK(same([](auto const& t) { return t.sum_squares; }, row_need::sum_squares));
}

} // namespace

TEST_CASE("row_features: any subset of needs gives the same bits and writes nothing else") {
    std::mt19937 random(5);
    for (std::size_t const columns : {0UL, 1UL, 10UL, 33UL, 1000UL, 4097UL}) {
        matrix<float> m(columns, 32);
        fill(m, [&](auto r, auto) { return r % 7 == 3 && random() % 50 == 0 ? qnan : float(random() % 64) / 8; });
        auto const targets = spread_targets(columns, m.rows, random);
        check_subset<0U>(m, targets);
        check_subset<+row_need::arg_max>(m, targets);
        check_subset<+row_need::max_score>(m, targets);
        check_subset<+row_need::target_rank>(m, targets);
        check_subset<+row_need::target_score>(m, targets);
        check_subset<+row_need::log_sum_exp>(m, targets);
        check_subset<+row_need::sum_squares>(m, targets);
        check_subset<row_need::arg_max | row_need::target_rank>(m, targets);
        check_subset<row_need::target_score | row_need::log_sum_exp>(m, targets);
    }
}

TEST_CASE("row_features: no rows and no targets") {
    row_tile<float> out;
    std::memset(&out, 0x5a, sizeof out);
    row_tile<float> const before = out;
    row_features<all_needs>(static_cast<float const*>(nullptr), 0, 10, 0, nullptr, out);
    CHECK(std::memcmp(&out, &before, sizeof out) == 0);
    float const scores[] = {1, 3, 2};
    row_features<row_need::arg_max | row_need::log_sum_exp>(scores, 3, 3, 1, nullptr, out);
    CHECK(out.arg_max[0] == 1);
    CHECK(out.max_score[0] == 3);
    CHECK(out.log_sum[0] == doctest::Approx(0.40760596));
}

TEST_CASE_TEMPLATE("row_features: a zero maximum is +0 whichever zero came first", T, float, double) {
    for (std::size_t const columns : {1UL, 2UL, 10UL, 100UL}) {
        for (int const first : {0, 1}) {
            matrix<T> m(columns, 1);
            fill(m, [&](auto, auto c) { return (int(c) + first) % 2 ? -0.0 : 0.0; });
            row_tile<T> out;
            row_features<+row_need::max_score>(m.row(0), columns, columns, 1, nullptr, out);
            CHECK(out.max_score[0] == 0);
            CHECK_FALSE(std::signbit(out.max_score[0]));
        }
    }
}

TEST_CASE_TEMPLATE("row_features: an offset common to all scores changes max_score only", T, float, double) {
    std::mt19937 random(23);
    for (std::size_t const columns : {1UL, 10UL, 48UL, 49UL, 1000UL, 4097UL}) {
        matrix<T> plain(columns, 24);
        fill(plain, [&](auto, auto) { return double(random() % 33) - 16; });
        auto const targets = spread_targets(columns, plain.rows, random);
        row_tile<T> want, got;
        row_features<all_needs>(plain.row(0), plain.stride, columns, plain.rows, targets.data(), want);
        for (double const offset : {1024.0, 1e5, 8388608.0, -8388608.0}) { // integers below 2^24: exact in float
            CAPTURE(columns);
            CAPTURE(offset);
            matrix<T> moved(columns, plain.rows);
            fill(moved, [&](auto r, auto c) { return static_cast<double>(plain.row(r)[c]) + offset; });
            row_features<all_needs>(moved.row(0), moved.stride, columns, moved.rows, targets.data(), got);
            CHECK(std::memcmp(got.log_sum, want.log_sum, plain.rows * sizeof(T)) == 0);
            CHECK(std::memcmp(got.sum_squares, want.sum_squares, plain.rows * sizeof(T)) == 0);
            for (std::size_t r = 0; r < plain.rows; ++r) CHECK(got.max_score[r] - want.max_score[r] == T(offset));
        }
    }
}

namespace {

template <isa Level, class T>
std::vector<T> exps(std::vector<T> const& x, T max_score = 0, T log_sum = 0) {
    std::vector<T> y(x.size());
    detail::kernels<Level>::softmax_row(x.data(), x.size(), max_score, log_sum, y.data());
    return y;
}

/// The greatest error of exp in units in the last place, over the given arguments; results that are no normal numbers
/// apart, which may be flushed to 0.
template <isa Level, class T>
double worst_ulp(std::vector<T> const& x, std::vector<long double> const& exact) {
    using limits = std::numeric_limits<T>;
    std::vector<T> const y = exps<Level>(x);
    double worst = 0;
    int bad = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
            bad += !std::isnan(y[i]);
        } else if (exact[i] < static_cast<long double>(limits::min())) {
            bad += !(y[i] >= 0 && static_cast<long double>(y[i]) <= exact[i] * 1.001L);
        } else if (std::isinf(static_cast<T>(exact[i]))) {
            bad += !(y[i] >= limits::max());
        } else {
            int exponent = 0;
            static_cast<void>(std::frexp(exact[i], &exponent));
            long double const ulp = std::ldexp(1.0L, exponent - limits::digits);
            worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(y[i]) - exact[i]) / ulp));
        }
    }
    CHECK(bad == 0);
    return worst;
}

template <class T>
void check_exp(std::vector<T> const& x) {
    std::vector<long double> exact;
    for (T const v : x) exact.push_back(std::exp(static_cast<long double>(v)));
    CHECK(worst_ulp<isa::baseline>(x, exact) < 1.2);
#if defined(__x86_64__)
    if (detail::cpu_has(isa::avx2)) CHECK(worst_ulp<isa::avx2>(x, exact) < 1.2);
    if (detail::cpu_has(isa::avx512)) CHECK(worst_ulp<isa::avx512>(x, exact) < 1.2);
#endif
}

template <class T>
void append_special(std::vector<T>& x) {
    using limits = std::numeric_limits<T>;
    T const m = limits::max(), i = limits::infinity(), n = limits::quiet_NaN();
    x.insert(x.end(), {i, -i, n, -n, T(0), -T(0), m, -m, limits::min(), limits::denorm_min()});
}

} // namespace

TEST_CASE("softmax_row: exp of float is within 1.2 ulp over the whole range") {
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < (1ULL << 32); bits += 3001) { // every 3001st float there is
        auto const pattern = static_cast<std::uint32_t>(bits);
        x.emplace_back();
        std::memcpy(&x.back(), &pattern, sizeof pattern);
    }
    for (int i = -2000; i < 2000; ++i) { // where results leave the normal numbers and the finite ones
        x.push_back(-88.0F + static_cast<float>(i) * 0.0005F);
        x.push_back(88.5F + static_cast<float>(i) * 0.0005F);
    }
    append_special(x);
    check_exp(x);
}

TEST_CASE("softmax_row: exp of double is within 1.2 ulp over the whole range") {
    std::vector<double> x;
    std::mt19937_64 random(17);
    std::uniform_real_distribution<double> whole(-712, 712), middle(-20, 20), small(-1, 1);
    for (int i = 0; i < 200000; ++i) {
        x.push_back(whole(random));
        x.push_back(middle(random));
        x.push_back(small(random));
        x.push_back(small(random) * std::ldexp(1.0, -(i % 60)));
    }
    for (int i = -2000; i < 2000; ++i) {
        x.push_back(-708.9 + i * 0.0005);
        x.push_back(709.5 + i * 0.0005);
    }
    append_special(x);
    check_exp(x);
}

TEST_CASE_TEMPLATE("softmax_row: the probabilities of a row, at any length and in place", T, float, double) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0, 3);
    auto const check = [&]<isa Level>(std::integral_constant<isa, Level>) {
        for (std::size_t const columns : sizes) {
            CAPTURE(columns);
            std::vector<T> x(columns);
            for (T& s : x) s = static_cast<T>(normal(random));
            if (columns == 0) {
                CHECK(exps<Level>(x).empty());
                continue;
            }
            reference<T> const row = slow_features(x.data(), columns, -1);
            T const max_score = static_cast<T>(row.max_score), log_sum = static_cast<T>(row.log_sum);
            std::vector<T> const y = exps<Level>(x, max_score, log_sum);
            bool right = true;
            for (std::size_t i = 0; i < columns; ++i) {
                long double const want = std::exp(static_cast<long double>((x[i] - max_score) - log_sum));
                right = right && y[i] <= 1 && close(y[i], want, 1.2L * std::numeric_limits<T>::epsilon() * want);
            }
            CHECK(right);
            detail::kernels<Level>::softmax_row(x.data(), columns, max_score, log_sum, x.data());
            CHECK(x == y);
        }
        std::vector<T> const special = exps<Level>(std::vector<T>{T(qnan), T(inf), T(-inf), T(0)}, T(inf), T(0));
        CHECK(std::isnan(special[0]));
        CHECK(std::isnan(special[1]));
        CHECK(special[2] == 0);
        CHECK(special[3] == 0);
    };
    check(std::integral_constant<isa, isa::baseline>{});
#if defined(__x86_64__)
    if (detail::cpu_has(isa::avx2)) check(std::integral_constant<isa, isa::avx2>{});
    if (detail::cpu_has(isa::avx512)) check(std::integral_constant<isa, isa::avx512>{});
#endif
}
