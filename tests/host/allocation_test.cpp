// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// update allocates nothing after the first call with the same shapes, whatever the inputs have to be converted from.
// Counted by the global operator new of this executable.
#include <tally/host/tracker.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/brier_score.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/log_loss.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/squared_error.hpp>
#include <tally/metric/variance.hpp>
#include <tally/weighted.hpp>
#include <support/strided.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <vector>

namespace {

std::atomic<std::int64_t> allocations = 0;

} // namespace

// The nothrow form is here because sanitizers bring their own, whose memory the delete below must not free. Not
// inlined, since g++ would see free() meet new and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    ++allocations;
    return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    if (void* const memory = operator new(bytes, std::nothrow)) {
        return memory;
    }
    throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    auto const size = static_cast<std::size_t>(alignment);
    if (void* const memory = std::aligned_alloc(size, (bytes + size - 1) / size * size)) {
        return memory;
    }
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using tally::testing::strided;

constexpr std::size_t rows = 1500; // several tiles
constexpr std::size_t columns = 12;

/// Allocations of three updates after the first one.
template <class M, class... Inputs>
std::int64_t later_allocations(tally::host::tracker<M> tracker, Inputs const&... inputs) {
    tracker.update(inputs...);
    auto const before = allocations.load();
    tracker.update(inputs...);
    tracker.update(inputs...);
    tracker.reset();
    tracker.update(inputs...);
    auto const after = allocations.load();
    CHECK(tracker.finalize().samples() != 0);
    return after - before;
}

template <class T>
std::vector<T> numbers(std::size_t n) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (std::is_arithmetic_v<T>) {
            x[i] = static_cast<T>(i * 37 % 11);
        } else {
            x[i] = tally::narrow_to<T>(static_cast<float>(i * 37 % 11));
        }
    }
    return x;
}

using rows_of_classes =
    tally::collection<tally::named<"top1", tally::accuracy<>>, tally::named<"top3", tally::accuracy<tally::top_k<3>>>,
                      tally::named<"loss", tally::log_loss<>>, tally::named<"brier", tally::multiclass_brier_score<>>,
                      tally::named<"confusion", tally::confusion_matrix<columns>>>;

template <class T>
void check_scores() {
    auto const scores = numbers<T>(2 * rows * columns);
    auto const labels = numbers<std::int64_t>(rows);
    using tracker = tally::host::tracker<rows_of_classes>;
    CHECK(later_allocations(tracker{}, tally::scores(scores.data(), rows, columns), tally::targets(labels)) == 0);
    // Column-major and padded rows have to be converted, whatever the type.
    strided<T const, 2> const column_major{scores.data(), {rows, columns}, {1, rows}};
    CHECK(later_allocations(tracker{}, tally::scores(column_major), tally::targets(labels)) == 0);
    strided<T const, 2> const spread{scores.data(), {rows, columns}, {2 * columns, 2}};
    CHECK(later_allocations(tracker{}, tally::scores(spread), tally::targets(labels)) == 0);
}

} // namespace

TEST_CASE("allocations: the counter sees them") {
    auto const before = allocations.load();
    tally::host::tracker<tally::confusion_matrix<3>> const tracker;
    CHECK(allocations.load() > before);
    CHECK(tracker.finalize().samples() == 0);
}

TEST_CASE("allocations: none in an update of values, converted or not") {
    using statistics =
        tally::collection<tally::named<"mean", tally::mean<double>>, tally::named<"variance", tally::variance<double>>>;
    using tracker = tally::host::tracker<statistics>;
    CHECK(later_allocations(tracker{}, tally::values(numbers<double>(rows))) == 0);
    CHECK(later_allocations(tracker{}, tally::values(numbers<float>(rows))) == 0);
    CHECK(later_allocations(tracker{}, tally::values(numbers<tally::half_bits>(rows))) == 0);
    CHECK(later_allocations(tracker{}, tally::values(numbers<std::int32_t>(rows))) == 0);
    auto const memory = numbers<double>(3 * rows);
    strided<double const, 1> const every_third{memory.data(), {rows}, {3}};
    CHECK(later_allocations(tracker{}, tally::values(every_third)) == 0);
    CHECK(later_allocations(tracker{}, tally::values(memory.data(), rows, 3)) == 0);
    tally::testing::dlpack_tensor<1> tensor{memory.data(), tally::testing::float64, {rows}, {2}};
    CHECK(later_allocations(tracker{}, tally::values(tensor.get())) == 0);
}

TEST_CASE("allocations: none with masks, weights, groups and two inputs") {
    auto const x = numbers<float>(rows);
    auto const mask = numbers<std::uint8_t>(rows);
    auto const weights = numbers<tally::half_bits>(rows);
    CHECK(later_allocations(tally::host::tracker<tally::weighted<tally::mean<>>>{}, tally::values(x), tally::mask(mask),
                            tally::weights(weights)) == 0);
    CHECK(later_allocations(tally::host::tracker<tally::grouped<tally::mean<>>>{tally::num_groups{9}}, tally::values(x),
                            tally::groups(mask)) == 0);
    CHECK(later_allocations(tally::host::tracker<tally::mean_squared_error<>>{}, tally::predictions(x),
                            tally::targets(mask)) == 0);
}

TEST_CASE("allocations: none in an update of scores, read in place or converted") {
    check_scores<float>();
    check_scores<double>();
    check_scores<tally::half_bits>();
    check_scores<tally::bfloat16_bits>();
    check_scores<std::int8_t>();
}

TEST_CASE("allocations: smaller updates need no more than the first") {
    auto const scores = numbers<tally::half_bits>(rows * columns);
    auto const labels = numbers<int>(rows);
    tally::host::tracker<rows_of_classes> tracker;
    tracker.update(tally::scores(scores.data(), rows, columns), tally::targets(labels));
    auto const before = allocations.load();
    for (std::size_t const n : {0U, 1U, 255U, 256U, 257U, 1499U}) {
        tracker.update(tally::scores(scores.data(), n, columns), tally::targets(labels.data(), n));
    }
    CHECK(allocations.load() == before);
}
