// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses have the same bits on the device as on the host: exp and log, every kind of row of scores however it is read,
// and losses of single predictions. Sums are exact, so one loss that differs anywhere shows in a mean.
#include "support/device_array.cuh"
#include "support/exp_log_cases.hpp"
#include "support/score_rows.hpp"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

using namespace tally::literals;
using tally::testing::device_array;

namespace {

template <class T>
__global__ void exp_log_kernel(T const* x, std::size_t n, T* out) {
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        out[i] = tally::math::exp(x[i]);
        out[n + i] = tally::math::log(x[i]);
        out[2 * n + i] = tally::math::log1p(x[i]);
    }
}

bool same(tally::result<double> const& a, tally::result<double> const& b) {
    if (a.why() != b.why() || a.dropped() != b.dropped()) {
        return false;
    }
    double const x = a.as_double();
    double const y = b.as_double();
    return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0;
}

template <class T>
using row_losses = tally::collection<tally::named<"loss", tally::log_loss<T, tally::exact_sum<T>>>,
                                     tally::named<"perplexity", tally::perplexity<T, tally::exact_sum<T>>>,
                                     tally::named<"brier", tally::multiclass_brier_score<T, tally::exact_sum<T>>>>;

/// Rows are read by a thread, a warp and a block of other numbers of columns than by default.
struct small_teams {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.row_columns_by_thread = 600;
        chosen.row_columns_by_warp = 700;
        chosen.row_columns_by_block = 64;
        return chosen;
    }
};
struct large_warps {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.threads = 64;
        chosen.row_columns_by_thread = 0;
        chosen.row_columns_by_warp = 1 << 20;
        return chosen;
    }
};

/// Rows [first, first + rows) in one update on either engine.
template <class T, class Tuning>
void check_rows(tally::testing::score_rows<T> const& m, std::size_t first, std::size_t rows, std::size_t offset) {
    CAPTURE(m.columns);
    CAPTURE(first);
    CAPTURE(rows);
    std::vector<T> const scores(m.scores.begin() + static_cast<std::ptrdiff_t>(first * m.columns),
                                m.scores.begin() + static_cast<std::ptrdiff_t>((first + rows) * m.columns));
    std::vector<std::int32_t> const targets(m.targets.begin() + static_cast<std::ptrdiff_t>(first),
                                            m.targets.begin() + static_cast<std::ptrdiff_t>(first + rows));
    device_array<T> const s(scores, offset);
    device_array<std::int32_t> const t(targets);
    tally::cuda::tracker<row_losses<T>, Tuning> device;
    tally::host::tracker<row_losses<T>> host;
    device.update(tally::scores(s.data(), rows, m.columns), tally::targets(t.data(), rows));
    host.update(tally::scores(scores.data(), rows, m.columns), tally::targets(targets));
    auto const got = device.finalize();
    auto const expected = host.finalize();
    CHECK(got.samples() == expected.samples());
    CHECK(same(got["loss"_metric], expected["loss"_metric]));
    CHECK(same(got["perplexity"_metric], expected["perplexity"_metric]));
    CHECK(same(got["brier"_metric], expected["brier"_metric]));
}

template <class T, class Tuning>
void check_row_losses() {
    for (std::size_t const columns : {1, 10, 33, 100, 512, 1000}) {
        auto const m = tally::testing::make_score_rows<T>(columns);
        for (std::size_t row = 0; row < m.rows; ++row) {
            check_rows<T, Tuning>(m, row, 1, 0);
        }
        check_rows<T, Tuning>(m, 0, m.rows, 1);
    }
    // More than one group of columns; finite rows only, so that the means say something.
    check_rows<T, Tuning>(tally::testing::make_score_rows<T>(16390), 0, 4, 0);
    check_rows<T, Tuning>(tally::testing::make_score_rows<T>(33001), 9, 3, 0);
}

} // namespace

TEST_CASE_TEMPLATE("exp, log, log1p: a device gives the bits of the host", T, float, double) {
    auto const x = tally::testing::arguments_of(T{});
    device_array<T> const in(x);
    device_array<T> const out(std::vector<T>(3 * x.size()));
    exp_log_kernel<<<64, 128>>>(in.data(), x.size(), out.data());
    tally::cuda::check(cudaGetLastError(), "exp_log_kernel");
    std::vector<T> y(3 * x.size());
    tally::cuda::check(cudaMemcpy(y.data(), out.data(), y.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    auto const part = [&](std::size_t k) {
        auto const first = y.begin() + static_cast<std::ptrdiff_t>(k * x.size());
        return tally::testing::fingerprint_of(std::vector<T>(first, first + static_cast<std::ptrdiff_t>(x.size())));
    };
    CHECK(part(0) == tally::testing::fingerprints<T>::exp);
    CHECK(part(1) == tally::testing::fingerprints<T>::log);
    CHECK(part(2) == tally::testing::fingerprints<T>::log1p);
}

TEST_CASE_TEMPLATE("losses of rows: a device gives the bits of the host, whoever reads the row", T, float, double) {
    check_row_losses<T, tally::cuda::default_tuning>();
    if constexpr (std::is_same_v<T, float>) {
        check_row_losses<T, small_teams>();
        check_row_losses<T, large_warps>();
    }
}

namespace {

template <class T, class RowSums>
using losses_by = tally::collection<
    tally::named<"loss", tally::log_loss<T, tally::exact_sum<T>, tally::unweighted, tally::labels::all, RowSums>>,
    tally::named<"brier", tally::multiclass_brier_score<T, tally::exact_sum<T>, tally::unweighted, tally::labels::all,
                                                        RowSums>>>;

/// |a - b|, or 0 for two that are no numbers for the same reason.
double distance(tally::result<double> const& a, tally::result<double> const& b) {
    double const x = a.as_double();
    double const y = b.as_double();
    CHECK(a.why() == b.why());
    CHECK(a.dropped() == b.dropped());
    CHECK((x != x) == (y != y));
    return x == y || x != x ? 0 : std::fabs(x - y);
}

} // namespace

TEST_CASE_TEMPLATE("losses of rows: fast ones are close to the others, with the same samples dropped", T, float,
                   double) {
    double const rounding = sizeof(T) == 4 ? 1e-6 : 2e-15;
    int differ = 0;
    for (std::size_t const columns : {1, 10, 33, 100, 512, 1000, 16390}) {
        CAPTURE(columns);
        auto const m = tally::testing::make_score_rows<T>(columns);
        device_array<T> const s(m.scores);
        device_array<std::int32_t> const t(m.targets);
        for (std::size_t row = 0; row < m.rows; ++row) {
            CAPTURE(row);
            tally::cuda::tracker<losses_by<T, tally::row_sums::fast>> fast;
            tally::host::tracker<losses_by<T, tally::row_sums::reproducible>> host;
            fast.update(tally::scores(s.data() + row * columns, 1, columns), tally::targets(t.data() + row, 1));
            host.update(tally::scores(m.scores.data() + row * columns, 1, columns),
                        tally::targets(m.targets.data() + row, 1));
            auto const got = fast.finalize();
            auto const expected = host.finalize();
            auto const loss = expected["loss"_metric].as_double();
            auto const off = distance(got["loss"_metric], expected["loss"_metric]);
            CHECK(off <= rounding * (1 + (loss == loss ? std::fabs(loss) : 0)));
            CHECK(distance(got["brier"_metric], expected["brier"_metric]) <= 4 * rounding);
            differ += off != 0 ? 1 : 0;
        }
    }
    CHECK(differ > 2); // it is another policy
}

TEST_CASE("losses of rows: a fast one beside a reproducible one has its bits") {
    using both =
        tally::collection<tally::named<"fast", tally::log_loss<float, tally::exact_sum<float>, tally::unweighted,
                                                               tally::labels::all, tally::row_sums::fast>>,
                          tally::named<"loss", tally::log_loss<float>>>;
    auto const m = tally::testing::make_score_rows<float>(1000);
    device_array<float> const s(m.scores);
    device_array<std::int32_t> const t(m.targets);
    tally::cuda::tracker<both> device;
    tally::host::tracker<tally::collection<tally::named<"loss", tally::log_loss<float>>>> host;
    device.update(tally::scores(s.data(), m.rows, m.columns), tally::targets(t.data(), m.rows));
    host.update(tally::scores(m.scores.data(), m.rows, m.columns), tally::targets(m.targets));
    auto const got = device.finalize();
    auto const expected = host.finalize()["loss"_metric];
    CHECK(same(got["fast"_metric], expected));
    CHECK(same(got["loss"_metric], expected));
}

TEST_CASE("losses of rows: half precision scores") {
    auto const m = tally::testing::make_score_rows<float>(1003);
    std::vector<tally::bfloat16_bits> scores;
    for (float const x : m.scores) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        scores.push_back({static_cast<std::uint16_t>(bits >> 16)});
    }
    for (std::size_t const offset : {std::size_t{0}, std::size_t{1}}) {
        device_array<tally::bfloat16_bits> const s(scores, offset);
        device_array<std::int32_t> const t(m.targets);
        tally::cuda::tracker<row_losses<float>> device;
        tally::host::tracker<row_losses<float>> host;
        device.update(tally::scores(s.data(), m.rows, m.columns), tally::targets(t.data(), m.rows));
        host.update(tally::scores(scores.data(), m.rows, m.columns), tally::targets(m.targets));
        auto const got = device.finalize();
        auto const expected = host.finalize();
        CHECK(same(got["loss"_metric], expected["loss"_metric]));
        CHECK(same(got["brier"_metric], expected["brier"_metric]));
    }
}

namespace {

template <class Tuning>
void check_byte_scores() {
    std::mt19937 random(8);
    for (std::size_t const columns : {7, 16, 17, 31, 100, 512, 1003, 1040}) {
        CAPTURE(columns);
        constexpr std::size_t rows = 9;
        std::vector<std::int8_t> scores(rows * columns);
        for (auto& each : scores) {
            each = static_cast<std::int8_t>(static_cast<int>(random() % 41) - 20);
        }
        std::vector<std::int32_t> targets(rows);
        for (auto& each : targets) {
            each = static_cast<std::int32_t>(random() % columns);
        }
        for (std::size_t const offset : {std::size_t{0}, std::size_t{1}}) {
            device_array<std::int8_t> const s(scores, offset);
            device_array<std::int32_t> const t(targets);
            tally::cuda::tracker<row_losses<float>, Tuning> device;
            tally::host::tracker<row_losses<float>> host;
            device.update(tally::scores(s.data(), rows, columns), tally::targets(t.data(), rows));
            host.update(tally::scores(scores.data(), rows, columns), tally::targets(targets));
            auto const got = device.finalize();
            auto const expected = host.finalize();
            CHECK(same(got["loss"_metric], expected["loss"_metric]));
            CHECK(same(got["brier"_metric], expected["brier"_metric]));
        }
    }
}

} // namespace

TEST_CASE("losses of rows: scores of one byte, of which a load brings sixteen") {
    check_byte_scores<tally::cuda::default_tuning>();
    check_byte_scores<small_teams>();
}

namespace {

template <class T>
using sum_of = tally::exact_sum<T>;
template <class T>
using pair_losses =
    tally::collection<tally::named<"probabilities", tally::binary_log_loss<tally::from_probabilities, T, sum_of<T>>>,
                      tally::named<"logits", tally::binary_log_loss<tally::from_logits, T, sum_of<T>>>,
                      tally::named<"entropy", tally::normalised_entropy<tally::from_probabilities, T, sum_of<T>>>>;
template <class T>
using pair_errors = tally::collection<tally::named<"squared log", tally::mean_squared_log_error<T, sum_of<T>>>,
                                      tally::named<"poisson", tally::poisson_loss<T, sum_of<T>>>,
                                      tally::named<"log cosh", tally::log_cosh_error<T, sum_of<T>>>>;

} // namespace

TEST_CASE_TEMPLATE("losses of pairs: a device gives the bits of the host", T, float, double) {
    std::mt19937_64 random(3);
    T const infinity = std::numeric_limits<T>::infinity();
    for (double const range : {1.0, 0.001, 16.0, 300.0}) {
        CAPTURE(range);
        std::vector<T> predictions{0, 1, -0.0, infinity, std::numeric_limits<T>::quiet_NaN(), T(1e-30)};
        std::vector<std::int32_t> labels{0, 1, 1, 1, 0, 0};
        std::vector<T> numbers{1, 0, 0, 3, 1, T(1e-30)};
        for (int i = 0; i < 3000; ++i) {
            predictions.push_back(static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 * range));
            if (i % 3 == 0 && range > 1.0) {
                predictions.back() = -predictions.back();
            }
            numbers.push_back(static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 * range));
            labels.push_back(static_cast<std::int32_t>(random() % 2));
        }
        auto const n = predictions.size();
        device_array<T> const p(predictions);
        device_array<T> const q(numbers);
        device_array<std::int32_t> const l(labels);
        tally::cuda::tracker<pair_losses<T>> device;
        tally::host::tracker<pair_losses<T>> host;
        device.update(tally::predictions(p.data(), n), tally::targets(l.data(), n));
        host.update(tally::predictions(predictions), tally::targets(labels));
        auto const got = device.finalize();
        auto const expected = host.finalize();
        CHECK(same(got["probabilities"_metric], expected["probabilities"_metric]));
        CHECK(same(got["logits"_metric], expected["logits"_metric]));
        CHECK(same(got["entropy"_metric], expected["entropy"_metric]));
        // An infinite mean hides the finite losses.
        auto const& a = got.template state<tally::binary_log_loss<tally::from_probabilities, T, sum_of<T>>>();
        auto const& b = expected.template state<tally::binary_log_loss<tally::from_probabilities, T, sum_of<T>>>();
        CHECK(a.finite_total.value() == b.finite_total.value());
        CHECK(a.infinite.value() == b.infinite.value());

        tally::cuda::tracker<pair_errors<T>> device_errors;
        tally::host::tracker<pair_errors<T>> host_errors;
        for (std::size_t const first : {std::size_t{0}, std::size_t{6}}) { // without and then with what is not finite
            device_errors.update(tally::predictions(p.data() + 6 - first, n - 6),
                                 tally::targets(q.data() + 6 - first, n - 6));
            host_errors.update(tally::predictions(predictions.data() + 6 - first, n - 6),
                               tally::targets(numbers.data() + 6 - first, n - 6));
            auto const errors = device_errors.finalize();
            auto const expected_errors = host_errors.finalize();
            CHECK(same(errors["squared log"_metric], expected_errors["squared log"_metric]));
            CHECK(same(errors["poisson"_metric], expected_errors["poisson"_metric]));
            CHECK(same(errors["log cosh"_metric], expected_errors["log cosh"_metric]));
        }
    }
}
