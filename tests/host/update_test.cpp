// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// update on the host: every kind of memory gives the same values, sizes are checked before anything is deposited.
#include <tally/host/tracker.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>
#include <tally/weighted.hpp>
#include <support/strided.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using tally::host::tracker;
using tally::testing::dlpack_tensor;
using tally::testing::strided;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Sum of i x_i, so that every sample must arrive in its place.
struct checksum {
    struct state {
        tally::sum<double> total;
        tally::count samples;
    };
    static auto observe(tally::value<double> x, tally::sample_position i) {
        return tally::contribute(x.value * static_cast<double>(i.value), tally::one);
    }
    static double finalize(state const& s) { return s.total.value(); }
};

/// The same for matrix elements, with the row's number from an input with one element a row.
struct matrix_checksum {
    struct state {
        tally::sum<double> total;
        tally::count elements;
    };
    static auto observe(tally::value<double> x, tally::input<"row", double> row, tally::column_index column) {
        return tally::contribute(x.value * (100 * row.value + column.value), tally::one);
    }
    static double finalize(state const& s) { return s.total.value(); }
};

template <class Values>
double checksum_of(Values const& values, std::uint64_t first = 1) {
    tracker<checksum> t;
    t.update(values, tally::positions(first));
    return t.finalize().get();
}

/// 1 x_0 + 2 x_1 + ...
template <class T>
double expected_checksum(std::vector<T> const& x, std::uint64_t first = 1) {
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        total += static_cast<double>(x[i]) * static_cast<double>(first + i);
    }
    return total;
}

/// Small whole numbers: all sums are exact. Longer than two tiles, and no multiple of one.
template <class T>
std::vector<T> numbers(std::size_t n = 700) {
    std::vector<T> x;
    for (std::size_t i = 0; i < n; ++i) {
        x.push_back(static_cast<T>(i * 7 % 100));
    }
    return x;
}

template <class M>
std::vector<std::byte> bytes_of(tracker<M> const& t) {
    return tally::snapshot(t.finalize());
}

/// A user's 16-bit type: hundredths.
struct hundredths {
    std::uint16_t n;
};

} // namespace

template <>
struct tally::widening<hundredths> {
    static double widen(hundredths x) { return static_cast<double>(x.n) / 100; }
};

TEST_CASE_TEMPLATE("update: elements of every type that fits", T, std::int8_t, std::uint8_t, std::int16_t,
                   std::uint16_t, std::int32_t, std::uint32_t, float, double) {
    auto const x = numbers<T>();
    CHECK(checksum_of(tally::values(x)) == expected_checksum(x));
    CHECK(checksum_of(tally::values(x.data(), 257), 1000) ==
          expected_checksum(std::vector<T>(x.begin(), x.begin() + 257), 1000));
}

TEST_CASE("update: 16-bit floating point and a user's own type") {
    auto const x = numbers<float>(300);
    std::vector<tally::half_bits> half;
    std::vector<tally::bfloat16_bits> brain;
    std::vector<hundredths> own;
    for (auto const each : x) {
        half.push_back(tally::narrow_to<tally::half_bits>(each));
        brain.push_back(tally::narrow_to<tally::bfloat16_bits>(each));
        own.push_back({static_cast<std::uint16_t>(each * 100)});
    }
    CHECK(checksum_of(tally::values(half)) == expected_checksum(x));
    CHECK(checksum_of(tally::values(brain)) == expected_checksum(x));
    CHECK(checksum_of(tally::values(own)) == expected_checksum(x));
}

TEST_CASE("update: vectors with any stride, backwards and broadcast") {
    auto const memory = numbers<double>(2000);
    for (std::ptrdiff_t const stride : {1, 2, 3, -1, -2, 0}) {
        auto const* const first = stride < 0 ? memory.data() + 1999 : memory.data();
        strided<double const, 1> const view{first, {600}, {stride}};
        std::vector<double> x;
        for (std::ptrdiff_t i = 0; i < 600; ++i) {
            x.push_back(first[i * stride]);
        }
        CHECK(checksum_of(tally::values(view)) == expected_checksum(x));
    }
    auto const narrow = numbers<float>(2000); // strided and widened
    strided<float const, 1> const view{narrow.data() + 1200, {401}, {-3}};
    std::vector<float> x;
    for (std::ptrdiff_t i = 0; i < 401; ++i) {
        x.push_back(narrow[static_cast<std::size_t>(1200 - 3 * i)]);
    }
    CHECK(checksum_of(tally::values(view)) == expected_checksum(x));
}

TEST_CASE("update: matrices with any strides, and vectors that hold for a row") {
    constexpr std::size_t rows = 37;
    constexpr std::size_t columns = 19;
    auto const memory = numbers<float>(4 * rows * columns);
    std::vector<double> row_numbers(rows);
    std::iota(row_numbers.begin(), row_numbers.end(), 0.0);
    struct layout {
        std::size_t offset;
        std::ptrdiff_t row;
        std::ptrdiff_t column;
    };
    for (auto const& l : {layout{0, columns, 1}, layout{0, 1, rows}, layout{0, 2 * columns, 2},
                          layout{(rows - 1) * columns, -static_cast<std::ptrdiff_t>(columns), 1},
                          layout{columns - 1, columns, -1}, layout{5, 0, 1}, layout{0, 40, 0}}) {
        strided<float const, 2> const view{memory.data() + l.offset, {rows, columns}, {l.row, l.column}};
        double expected = 0;
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                auto const at = static_cast<std::ptrdiff_t>(l.offset) + static_cast<std::ptrdiff_t>(r) * l.row +
                                static_cast<std::ptrdiff_t>(c) * l.column;
                expected += static_cast<double>(memory[static_cast<std::size_t>(at)]) *
                            (100 * static_cast<double>(r) + static_cast<double>(c));
            }
        }
        tracker<matrix_checksum> t;
        t.update(tally::values(view), tally::inputs<"row">(row_numbers));
        CHECK(t.finalize().get() == expected);
        CHECK(t.finalize().state<matrix_checksum>().elements.value() == rows * columns);
        CHECK(t.finalize().samples() == rows);
    }
}

TEST_CASE("update: rows wider than a tile") {
    constexpr std::size_t columns = 1000;
    auto const memory = numbers<double>(3 * columns);
    double expected = 0;
    for (std::size_t i = 0; i < memory.size(); ++i) {
        expected += memory[i] * (100 * static_cast<double>(i / columns) + static_cast<double>(i % columns));
    }
    double const row[] = {0, 1, 2};
    tracker<matrix_checksum> t;
    t.update(tally::inputs<"row">(row), tally::values(memory.data(), 3, columns));
    CHECK(t.finalize().get() == expected);
}

namespace {

template <class T>
void check_dlpack_type(DLDataType type) {
    auto const x = numbers<T>(300);
    dlpack_tensor<1> compact{x.data(), type, {300}};
    CHECK(checksum_of(tally::values(compact.get())) == expected_checksum(x));

    dlpack_tensor<1> every_third{x.data(), type, {99}, {3}};
    every_third.get().byte_offset = 2 * sizeof(T);
    std::vector<T> thirds;
    for (std::size_t i = 0; i < 99; ++i) {
        thirds.push_back(x[2 + 3 * i]);
    }
    CHECK(checksum_of(tally::values(every_third.get())) == expected_checksum(thirds));
}

} // namespace

TEST_CASE("update: DLPack tensors of integers and floats, with and without strides") {
    check_dlpack_type<std::int8_t>({kDLInt, 8, 1});
    check_dlpack_type<std::int16_t>({kDLInt, 16, 1});
    check_dlpack_type<std::int32_t>({kDLInt, 32, 1});
    check_dlpack_type<std::uint8_t>({kDLUInt, 8, 1});
    check_dlpack_type<std::uint16_t>({kDLUInt, 16, 1});
    check_dlpack_type<std::uint32_t>({kDLUInt, 32, 1});
    check_dlpack_type<float>(tally::testing::float32);
    check_dlpack_type<double>(tally::testing::float64);
}

TEST_CASE("update: DLPack tensors of 64-bit integers where integers are asked for") {
    std::vector<std::int64_t> const x{std::int64_t{1} << 62, -5, (std::int64_t{1} << 53) + 1};
    dlpack_tensor<1> tensor{x.data(), {kDLInt, 64, 1}, {3}};
    tracker<tally::total<std::int64_t>> total;
    total.update(tally::values(tensor.get()));
    CHECK(total.finalize().value() == (std::int64_t{1} << 62) + (std::int64_t{1} << 53) - 4);

    std::vector<std::uint64_t> const y{~std::uint64_t{0} - 7, 3};
    dlpack_tensor<1> unsigned_tensor{y.data(), {kDLUInt, 64, 1}, {2}};
    tracker<tally::total<std::uint64_t>> unsigned_total;
    unsigned_total.update(tally::values(unsigned_tensor.get()));
    CHECK(unsigned_total.finalize().value() == ~std::uint64_t{0} - 4);
}

TEST_CASE("update: DLPack tensors of 16-bit floats and truth values") {
    std::vector<tally::half_bits> half;
    std::vector<tally::bfloat16_bits> brain;
    std::vector<unsigned char> truth;
    double expected = 0;
    double expected_truth = 0;
    for (int i = 0; i < 100; ++i) {
        half.push_back(tally::narrow_to<tally::half_bits>(static_cast<float>(i)));
        brain.push_back(tally::narrow_to<tally::bfloat16_bits>(static_cast<float>(i)));
        truth.push_back(static_cast<unsigned char>(i % 3)); // any byte but 0 is true
        expected += i * (i + 1);
        expected_truth += i % 3 != 0 ? i + 1 : 0;
    }
    dlpack_tensor<1> half_tensor{half.data(), tally::testing::float16, {100}};
    dlpack_tensor<1> brain_tensor{brain.data(), tally::testing::bfloat16, {100}};
    dlpack_tensor<1> truth_tensor{truth.data(), tally::testing::boolean, {100}};
    CHECK(checksum_of(tally::values(half_tensor.get())) == expected);
    CHECK(checksum_of(tally::values(brain_tensor.get())) == expected);
    CHECK(checksum_of(tally::values(truth_tensor.get())) == expected_truth);
}

TEST_CASE("update: column-major DLPack matrices") {
    auto const memory = numbers<float>(6);
    dlpack_tensor<2> matrix{memory.data(), tally::testing::float32, {3, 2}, {1, 3}};
    std::vector<double> const rows{0, 1, 2};
    double expected = 0;
    for (std::size_t r = 0; r < 3; ++r) {
        for (std::size_t c = 0; c < 2; ++c) {
            expected += static_cast<double>(memory[r + 3 * c]) * static_cast<double>(100 * r + c);
        }
    }
    tracker<matrix_checksum> t;
    t.update(tally::values(tally::matrix(matrix.get())), tally::inputs<"row">(rows));
    CHECK(t.finalize().get() == expected);
}

TEST_CASE("update: a DLPack type that loses values is refused before anything is deposited") {
    tracker<tally::mean<float>> t;
    t.update(tally::values(numbers<float>()));
    auto const before = bytes_of(t);
    std::vector<double> const x{1.0, 2.0};
    dlpack_tensor<1> tensor{x.data(), tally::testing::float64, {2}};
    CHECK_THROWS_WITH_AS(t.update(tally::values(tensor.get())),
                         "values: elements of type float64 don't fit what a metric asks for without loss",
                         tally::shape_error);
    std::vector<std::int32_t> const y{1, 2};
    dlpack_tensor<1> integers{y.data(), {kDLInt, 32, 1}, {2}};
    CHECK_THROWS_AS(t.update(tally::values(integers.get())), tally::shape_error);
    CHECK(bytes_of(t) == before);
}

TEST_CASE("update: sizes that differ are named on both sides, and nothing is deposited") {
    tracker<checksum> t;
    auto const x = numbers<double>();
    t.update(tally::values(x), tally::positions(1));
    auto const before = bytes_of(t);
    std::vector<unsigned char> const mask(699, 1);
    CHECK_THROWS_WITH_AS(t.update(tally::values(x), tally::positions(1), tally::mask(mask)),
                         "values(...) has 700 samples but mask(...) has 699 samples", tally::shape_error);
    CHECK_THROWS_WITH_AS(t.update(tally::mask(mask), tally::positions(std::vector<std::uint64_t>(3)), tally::values(x)),
                         "mask(...) has 699 samples but positions(...) has 3 samples", tally::shape_error);
    CHECK(bytes_of(t) == before);

    tracker<matrix_checksum> m;
    std::vector<double> const rows(36);
    CHECK_THROWS_WITH_AS(m.update(tally::values(x.data(), 35, 20), tally::inputs<"row">(rows)),
                         "values(...) has 35 samples but row(...) has 36 samples", tally::shape_error);
    CHECK_THROWS_WITH_AS(m.update(tally::values(x.data(), 35, 20), tally::inputs<"row">(x.data(), 35, 19)),
                         "values(...) has 20 columns but row(...) has 19 columns", tally::shape_error);
    CHECK(m.finalize().samples() == 0);
}

TEST_CASE("update: zero samples are legal and change nothing") {
    tracker<tally::weighted<tally::mean<>>> t;
    std::vector<float> const none;
    t.update(tally::values(none), tally::weights(none));
    CHECK(t.finalize().get().why() == tally::reason::no_samples);
    CHECK(t.finalize().samples() == 0);
    std::vector<float> const x{3, 5};
    float const w[] = {1, 1};
    t.update(tally::values(x), tally::weights(w));
    auto const before = bytes_of(t);
    float const* const nowhere = nullptr;
    t.update(tally::values(nowhere, 0), tally::weights(nowhere, 0), tally::mask(nowhere, 0));
    CHECK(bytes_of(t) == before);
    CHECK(t.finalize().value() == 4.0);
    tracker<matrix_checksum> m;
    m.update(tally::values(nowhere, 0, 7), tally::inputs<"row">(nowhere, 0));
    std::vector<double> const rows(7);
    m.update(tally::values(nowhere, 7, 0), tally::inputs<"row">(rows)); // rows without elements
    CHECK(m.finalize().get() == 0.0);
}

TEST_CASE_TEMPLATE("mask: elements of any type, zero leaves a sample out", T, bool, std::uint8_t, std::int64_t, float,
                   double) {
    auto const x = numbers<double>();
    std::array<T, 700> mask{};
    double expected = 0;
    std::uint64_t masked = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        mask[i] = static_cast<T>(i % 3 != 0 || i > 600);
        expected += mask[i] != T{} ? x[i] * static_cast<double>(i + 5) : 0.0;
        masked += mask[i] == T{};
    }
    tracker<checksum> t;
    t.update(tally::positions(5), tally::mask(mask), tally::values(x));
    CHECK(t.finalize().get() == expected);
    CHECK(t.finalize().masked() == masked);
    CHECK(t.finalize().samples() == 700 - masked);
    t.update(tally::mask(std::array<T, 3>{}), tally::values(x.data(), 3), tally::positions(0));
    CHECK(t.finalize().get() == expected);
    CHECK(t.finalize().masked() == masked + 3);
}

TEST_CASE("mask: 16-bit floats, DLPack truth values and strides") {
    float const x[] = {1, 2, 4, 8};
    auto const masked_total = [&](auto const& mask) {
        tracker<tally::total<>> t;
        t.update(tally::values(x), mask);
        return t.finalize().value();
    };
    // Minus zero is zero.
    std::vector<tally::half_bits> const half{{0x8000}, {0x3c00}, {0x0001}, {0x0000}};
    CHECK(masked_total(tally::mask(half)) == 6.0);
    unsigned char const truth[] = {0, 1, 0, 255};
    dlpack_tensor<1> tensor{truth, tally::testing::boolean, {4}};
    CHECK(masked_total(tally::mask(tensor.get())) == 10.0);
    int const backwards[] = {1, 9, 0, 9, 0, 9, 1};
    CHECK(masked_total(tally::mask(strided<int const, 1>{backwards + 6, {4}, {-2}})) == 9.0);
}

TEST_CASE("mask: a row of a matrix is left out as a whole") {
    auto const x = numbers<double>(30);
    double const rows[] = {0, 1, 2};
    int const mask[] = {1, 0, 1};
    tracker<matrix_checksum> t;
    t.update(tally::values(x.data(), 3, 10), tally::inputs<"row">(rows), tally::mask(mask));
    double expected = 0;
    for (std::size_t c = 0; c < 10; ++c) {
        expected += x[c] * static_cast<double>(c) + x[20 + c] * (200 + static_cast<double>(c));
    }
    CHECK(t.finalize().get() == expected);
    CHECK(t.finalize().masked() == 1);
}

TEST_CASE("weights: NaN and infinite ones leave their sample out and are counted, also beside a mask") {
    float const x[] = {1, 2, 4, 8, 16, 32};
    float const w[] = {1, not_a_number, 2, infinity, -infinity, 0.5F};
    tracker<tally::weighted<tally::total<>>> t;
    t.update(tally::values(x), tally::weights(w));
    CHECK(t.finalize().value() == 1 + 8 + 16);
    CHECK(t.finalize().weights_lost() == 3);
    CHECK(t.finalize().samples() == 3);
    int const mask[] = {1, 0, 0, 1, 1, 1}; // a masked sample's weight is not looked at
    t.update(tally::values(x), tally::weights(w), tally::mask(mask));
    CHECK(t.finalize().value() == 25 + 1 + 16);
    CHECK(t.finalize().weights_lost() == 5);
    CHECK(t.finalize().masked() == 2);
    CHECK(t.finalize().samples() == 5);
}

TEST_CASE("weights: one for each row of a matrix, or one for each element") {
    float const x[] = {1, 2, 3, 4, 5, 6};
    float const of_rows[] = {0.5F, -2.0F};
    tracker<tally::weighted<tally::mean<>>> t;
    t.update(tally::values(x, 2, 3), tally::weights(of_rows));
    CHECK(t.finalize().value() == (0.5 * 6 - 2.0 * 15) / (3 * 0.5 - 3 * 2.0));
    tracker<tally::weighted<tally::mean<>>> each;
    float const w[] = {1, 0, 0, 0, 0, 3};
    each.update(tally::values(x, 2, 3), tally::weights(w, 2, 3));
    CHECK(each.finalize().value() == (1.0 + 18.0) / 4);
}

TEST_CASE("weights: a NaN weight of a matrix element is left out as well") {
    float const x[] = {1, 2, 3, 4};
    float const w[] = {1, not_a_number, 1, infinity};
    tracker<tally::weighted<tally::mean<>>> t;
    t.update(tally::values(x, 2, 2), tally::weights(w, 2, 2));
    CHECK(t.finalize().value() == 2.0);
    CHECK(t.finalize().weights_lost() == 2);
}

TEST_CASE("positions: consecutive ones, explicit ones, and beyond 2^32") {
    auto const x = numbers<double>(600);
    std::vector<std::uint64_t> positions(600);
    std::iota(positions.begin(), positions.end(), std::uint64_t{1} << 40);
    CHECK(checksum_of(tally::values(x), std::uint64_t{1} << 40) == [&] {
        tracker<checksum> t;
        t.update(tally::positions(positions), tally::values(x));
        return t.finalize().get();
    }());
}

TEST_CASE("groups: out of range ones are counted, NaN values stay in their group") {
    using by_group = tally::grouped<tally::mean<>, 3>;
    tracker<by_group> t;
    float const x[] = {1, 2, 3, 4, not_a_number, 6};
    std::int64_t const groups[] = {0, 2, std::int64_t{1} << 32, -1, 0, 2};
    t.update(tally::values(x), tally::groups(groups));
    auto const result = t.finalize().get();
    CHECK(result.size() == 3);
    CHECK(result[0].value() == 1.0);
    CHECK(result[0].dropped() == 1);
    CHECK(result[1].why() == tally::reason::no_samples);
    CHECK(result[2].value() == 4.0);
    CHECK(result.outside == 2);
}

TEST_CASE("update: a DLPack tensor of probabilities is refused where labels are asked for") {
    tracker<tally::confusion_matrix<2>> t;
    float const p[2] = {0.9F, 0.2F};
    std::int64_t const labels[2] = {1, 0};
    dlpack_tensor<1> numbers{p, tally::testing::float32, {2}};
    dlpack_tensor<1> predicted{labels, {kDLInt, 64, 1}, {2}};
    CHECK_THROWS_WITH_AS(t.update(tally::predictions(numbers.get()), tally::targets(labels)),
                         "predictions(...) of type float32 are numbers, not labels: use accuracy<binary<>> or give "
                         "scores(...)",
                         tally::shape_error);
    CHECK(t.finalize().samples() == 0);
    t.update(tally::predictions(predicted.get()), tally::targets(labels));
    CHECK(t.finalize().samples() == 2);
    dlpack_tensor<1> targets{p, tally::testing::float32, {2}}; // targets may be whole numbers of any type
    CHECK_NOTHROW(t.update(tally::predictions(predicted.get()), tally::targets(targets.get())));
}
