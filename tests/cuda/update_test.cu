// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Updates on the device against the host engine: sizes around tiles, every misalignment, mixed element types, strides,
// masks, weights. Integer states must agree bit by bit.
#include "support/device_array.cuh"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace tally::literals;
using tally::testing::device_array;

namespace {

using summary =
    tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
                      tally::named<"largest", tally::largest<>>, tally::named<"smallest", tally::smallest<>>,
                      tally::named<"histogram", tally::histogram<tally::linear_bins<16>>>>;

std::vector<float> numbers(std::size_t n) {
    std::mt19937 random(static_cast<unsigned>(n) + 1);
    std::uniform_real_distribution<float> uniform(-0.2F, 1.2F);
    std::vector<float> values(n);
    for (auto& x : values) {
        x = uniform(random);
    }
    if (n > 4) {
        values[n / 2] = std::numeric_limits<float>::quiet_NaN();
    }
    return values;
}

bool same(tally::result<float> const& a, tally::result<float> const& b) {
    return a.why() == b.why() && (!a.has_value() || a.value() == b.value()) && a.dropped() == b.dropped();
}

template <class Local>
void check_summary(Local const& got, Local const& expected) {
    CHECK(got.samples() == expected.samples());
    CHECK(got["histogram"_metric].counts == expected["histogram"_metric].counts);
    CHECK(same(got["largest"_metric], expected["largest"_metric]));
    CHECK(same(got["smallest"_metric], expected["smallest"_metric]));
    CHECK(got["mean"_metric].dropped() == expected["mean"_metric].dropped());
    CHECK(got["mean"_metric].why() == expected["mean"_metric].why());
    if (expected["mean"_metric].has_value()) {
        CHECK(got["mean"_metric].value() == doctest::Approx(expected["mean"_metric].value()).epsilon(1e-12));
    }
    if (expected["variance"_metric].has_value()) {
        CHECK(got["variance"_metric].value() == doctest::Approx(expected["variance"_metric].value()).epsilon(1e-12));
    }
}

} // namespace

TEST_CASE("every size around a tile, at every distance from an aligned address") {
    for (std::size_t const n : {0UL, 1UL, 2UL, 15UL, 16UL, 17UL, 4095UL, 4096UL, 4097UL, 12289UL}) {
        for (std::size_t offset = 0; offset < 5; ++offset) {
            CAPTURE(n);
            CAPTURE(offset);
            auto const values = numbers(n);
            device_array<float> const input(values, offset);
            tally::cuda::tracker<summary> device;
            tally::host::tracker<summary> host;
            device.update(tally::values(input.data(), n));
            host.update(tally::values(values));
            check_summary(device.finalize(), host.finalize());
        }
    }
}

TEST_CASE("inputs of different element types and alignments in one update") {
    using errors = tally::collection<tally::named<"mae", tally::mean_absolute_error<double>>,
                                     tally::named<"r2", tally::r2_score<double>>>;
    std::size_t const n = 5003;
    auto const values = numbers(n);
    std::vector<std::int16_t> targets(n);
    std::vector<double> weights(n);
    std::vector<std::uint8_t> mask(n);
    for (std::size_t i = 0; i < n; ++i) {
        targets[i] = static_cast<std::int16_t>(i % 7);
        weights[i] = i % 100 == 3 ? std::numeric_limits<double>::infinity() : 1.0 + static_cast<double>(i % 3);
        mask[i] = static_cast<std::uint8_t>(i % 5 != 0 ? 2 : 0);
    }
    for (std::size_t offset = 0; offset < 4; ++offset) {
        CAPTURE(offset);
        device_array<float> const p(values, offset);
        device_array<std::int16_t> const t(targets, 3 * offset);
        device_array<double> const w(weights, offset % 2);
        device_array<std::uint8_t> const m(mask, 5 * offset);
        using metric = tally::weighted<errors, double>;
        tally::cuda::tracker<metric> device;
        tally::host::tracker<metric> host;
        device.update(tally::predictions(p.data(), n), tally::targets(t.data(), n), tally::weights(w.data(), n),
                      tally::mask(m.data(), n));
        host.update(tally::predictions(values), tally::targets(targets), tally::weights(weights), tally::mask(mask));
        auto const got = device.finalize();
        auto const expected = host.finalize();
        CHECK(got.samples() == expected.samples());
        CHECK(got.masked() == expected.masked());
        CHECK(got.weights_lost() == expected.weights_lost());
        CHECK(got["mae"_metric].value() == doctest::Approx(expected["mae"_metric].value()).epsilon(1e-12));
        CHECK(got["mae"_metric].dropped() == expected["mae"_metric].dropped());
        CHECK(got["r2"_metric].value() == doctest::Approx(expected["r2"_metric].value()).epsilon(1e-11));
    }
}

TEST_CASE("elements that lie apart, and positions") {
    auto const values = numbers(9001);
    device_array<float> const input(values);
    for (std::ptrdiff_t const stride : {2, 3, 0}) {
        CAPTURE(stride);
        tally::vector_view<float> const on_device{input.data(), 3000, stride};
        tally::vector_view<float> const on_host{values.data(), 3000, stride};
        using metric =
            tally::collection<tally::named<"all", tally::mean<>>, tally::named<"where", tally::largest_at<>>>;
        tally::cuda::tracker<metric> device;
        tally::host::tracker<metric> host;
        using view = tally::given<tally::source::values, tally::vector_view<float>>;
        device.update(view{on_device}, tally::positions(70));
        host.update(view{on_host}, tally::positions(70));
        auto const where = [](auto const& values) { return values["where"_metric].position.value(); };
        CHECK(where(device.finalize()) == where(host.finalize()));
        CHECK(device.finalize()["all"_metric].value() ==
              doctest::Approx(host.finalize()["all"_metric].value()).epsilon(1e-12));
    }
}

TEST_CASE("contiguous matrices are read as vectors, others row by row, with the same result") {
    std::size_t const rows = 37;
    std::size_t const columns = 11;
    auto const p = numbers(rows * (columns + 2));
    auto const t = numbers(rows * (columns + 2) + 1);
    device_array<float> const dp(p);
    device_array<float> const dt(t);
    for (std::ptrdiff_t const stride : {11, 13}) {
        tally::matrix_view<float> const hp_view{p.data(), rows, columns, stride, 1};
        tally::matrix_view<float> const ht_view{t.data(), rows, columns, stride, 1};
        tally::matrix_view<float> const dp_view{dp.data(), rows, columns, stride, 1};
        tally::matrix_view<float> const dt_view{dt.data(), rows, columns, stride, 1};
        using predictions = tally::given<tally::source::predictions, tally::matrix_view<float>>;
        using targets = tally::given<tally::source::targets, tally::matrix_view<float>>;
        tally::cuda::tracker<tally::mean_squared_error<>> device;
        tally::host::tracker<tally::mean_squared_error<>> host;
        device.update(predictions{dp_view}, targets{dt_view});
        host.update(predictions{hp_view}, targets{ht_view});
        auto const got = device.finalize();
        auto const expected = host.finalize();
        CHECK(got.samples() == rows);
        CHECK(got.samples() == expected.samples());
        CHECK(got.get().dropped() == expected.get().dropped());
        CHECK(got.value() == doctest::Approx(expected.value()).epsilon(1e-12));
    }
}

TEST_CASE("the same update twice gives the same bits") {
    auto const values = numbers(100003);
    device_array<float> const input(values);
    auto const bits = [&] {
        tally::cuda::tracker<summary> tracker;
        tracker.update(tally::values(input.data(), input.size()));
        return tracker.finalize()["mean"_metric].value();
    };
    auto const first = bits();
    CHECK(bits() == first);
    CHECK(bits() == first);
}

TEST_CASE("reset, snapshot and restore") {
    auto const values = numbers(3001);
    device_array<float> const input(values);
    tally::cuda::tracker<summary> tracker;
    tracker.update(tally::values(input.data(), input.size()));
    tally::self_communicator alone;
    auto const saved = tracker.snapshot(alone);
    auto const before = tracker.finalize();
    tracker.reset();
    CHECK(tracker.finalize().samples() == 0);
    CHECK_FALSE(tracker.finalize()["mean"_metric].has_value());
    tracker.restore(saved);
    check_summary(tracker.finalize(), before);
    CHECK(tracker.finalize()["mean"_metric].value() == before["mean"_metric].value());

    tally::host::tracker<summary> host;
    host.restore(saved); // a snapshot knows no engine
    CHECK(host.finalize()["mean"_metric].value() == before["mean"_metric].value());
}

namespace {

/// Thread, warp and block take a row of so few columns, and several blocks share a row of more than 64.
struct small_rows {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.row_columns_by_thread = 4;
        chosen.row_columns_by_warp = 40;
        chosen.row_columns_by_block = 64;
        return chosen;
    }
};
using row_metrics = tally::collection<tally::named<"loss", tally::log_loss<>>, tally::named<"top1", tally::accuracy<>>,
                                      tally::named<"top3", tally::accuracy<tally::top_k<3>>>,
                                      tally::named<"brier", tally::multiclass_brier_score<>>,
                                      tally::named<"ece", tally::calibration_error<10>>>;

} // namespace

TEST_CASE("rows read by a thread, a warp, a block and several blocks") {
    for (std::size_t const rows : {std::size_t{3}, std::size_t{70}, std::size_t{3000}}) {
        for (std::size_t const columns :
             {std::size_t{4}, std::size_t{40}, std::size_t{64}, std::size_t{65}, std::size_t{300}}) {
            if (rows * columns > 100000) {
                continue;
            }
            CAPTURE(rows);
            CAPTURE(columns);
            auto scores = numbers(rows * columns + 1);
            std::vector<std::int32_t> labels(rows);
            for (std::size_t i = 0; i < rows; ++i) {
                labels[i] = static_cast<std::int32_t>(i * 7 % (columns + 1)); // one label is no class
                scores[i * columns + i % columns] = scores[i * columns];      // ties
            }
            for (std::size_t const offset : {std::size_t{0}, std::size_t{1}}) {
                device_array<float> const s(scores, offset);
                device_array<std::int32_t> const l(labels);
                tally::cuda::tracker<row_metrics, small_rows> device;
                tally::host::tracker<row_metrics> host;
                for (int k = 0; k < 2; ++k) {
                    device.update(tally::scores(s.data(), rows, columns), tally::targets(l.data(), rows));
                    host.update(tally::scores(scores.data(), rows, columns), tally::targets(labels));
                }
                auto const got = device.finalize();
                auto const expected = host.finalize();
                CHECK(got.samples() == expected.samples());
                CHECK(got["top1"_metric].value() == expected["top1"_metric].value());
                CHECK(got["top3"_metric].value() == expected["top3"_metric].value());
                CHECK(got["loss"_metric].value() == doctest::Approx(expected["loss"_metric].value()).epsilon(1e-6));
                CHECK(got["brier"_metric].value() == doctest::Approx(expected["brier"_metric].value()).epsilon(1e-6));
                CHECK(got["ece"_metric].value() == doctest::Approx(expected["ece"_metric].value()).epsilon(1e-5));
            }
        }
    }
}

TEST_CASE("more than 2^31 samples" * doctest::test_suite("plain")) {
    // One number that is read again and again: so many would not fit the memory of every device.
    device_array<float> const input(std::vector<float>{0.25F});
    auto const n = (std::size_t{1} << 31) + 4099;
    tally::cuda::tracker<tally::total<>> tracker;
    using view = tally::given<tally::source::values, tally::vector_view<float>>;
    tracker.update(view{{input.data(), n, 0}});
    auto const result = tracker.finalize();
    CHECK(result.samples() == n);
    CHECK(result.value() == 0.25 * static_cast<double>(n));
}
