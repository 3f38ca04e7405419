// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact sums on the device: the same words as digit by digit on the host, for benign and for hostile numbers, whatever
// the size, the alignment and the tuning; and what an element costs, counted.
#include "support/device_array.cuh"
#include "support/device_counters.hpp"
#include "support/named_data.hpp"
#include "support/small_blocks.hpp"

#include <doctest/doctest.h>

#include <tally/accumulator/exact_sum.hpp>
#include <tally/cuda.hpp>
#include <tally/cuda/exact_part.cuh>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

using tally::testing::add_data;
using tally::testing::counted;
using tally::testing::device_array;
using tally::testing::from_bits;
using tally::testing::named_data;
using tally::testing::small_blocks;

namespace {

/// Sums of the values as they come, NaN and infinities included.
template <class T, class Sum>
struct plain_sum {
    struct state {
        Sum sum;
    };
    TALLY_HD static constexpr auto observe(tally::value<T> x) { return tally::contribute(x.value); }
    static double finalize(state const& s) { return s.sum.value(); }
};
struct sum_of_squares {
    struct state {
        tally::exact_sum<tally::product<float>> sum;
    };
    TALLY_HD static constexpr auto observe(tally::value<float> x) {
        return tally::contribute(tally::product<float>{x.value, x.value});
    }
    static double finalize(state const& s) { return s.sum.value(); }
};
struct weighted_sum {
    using weighting = tally::by_weight<float>;
    struct state {
        tally::exact_sum<tally::product<float>> sum;
    };
    TALLY_HD static constexpr auto observe(tally::value<float> x) { return tally::contribute(x.value); }
    static double finalize(state const& s) { return s.sum.value(); }
};
struct only_count {
    struct state {
        tally::count n;
    };
    TALLY_HD static constexpr auto observe(tally::value<float>) { return tally::contribute(tally::one); }
    static double finalize(state const& s) { return static_cast<double>(s.n.value()); }
};

/// Few enough threads that each takes several tiles of a test's samples.
struct long_runs {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.threads = 64;
        chosen.blocks_per_multiprocessor = 1;
        chosen.bytes_in_flight = 64;
        chosen.most_items = 16;
        return chosen;
    }
};

template <class T>
named_data<T> data_sets(std::size_t n) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr auto fraction = static_cast<bits>((bits{1} << (std::numeric_limits<T>::digits - 1)) - 1);
    constexpr auto sign = static_cast<bits>(bits{1} << (8 * sizeof(T) - 1));
    std::mt19937_64 random(n);
    named_data<T> sets;
    auto const add = [&](char const* name, auto make) { add_data(sets, n, name, make); };
    constexpr auto infinity = std::numeric_limits<T>::infinity();
    constexpr auto nan = std::numeric_limits<T>::quiet_NaN();
    std::uniform_real_distribution<T> uniform(-1, 1);
    add("losses", [&](std::size_t) { return uniform(random) + T{1}; });
    add("zeros of both signs", [](std::size_t i) { return i % 2 == 0 ? T{0} : -T{0}; });
    add("subnormal", [&](std::size_t) { return from_bits<T>(static_cast<bits>(random()) & (fraction | sign)); });
    add("largest", [](std::size_t) { return std::numeric_limits<T>::max(); });
    add("cancelling", [](std::size_t i) {
        return i == 5 ? std::numeric_limits<T>::denorm_min()
                      : (i % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest());
    });
    add("one huge, many tiny", [](std::size_t i) { return i == 3 ? T{1e30F} : T{1e-30F}; });
    add("every exponent", [&](std::size_t) {
        auto const x = from_bits<T>(static_cast<bits>(random()));
        return x - x == T{0} ? x : T{1};
    });
    add("random bits", [&](std::size_t) { return from_bits<T>(static_cast<bits>(random())); });
    add("nan and infinities", [](std::size_t i) { return i == 7 ? nan : i == 9 ? infinity : T{2}; });
    add("negative infinity", [](std::size_t i) { return i == 7 ? -infinity : T{2}; });
    return sets;
}

template <class T, class Tuning>
void check_values(std::size_t n) {
    using metric = plain_sum<T, tally::exact_sum<T>>;
    for (auto const& [name, values] : data_sets<T>(n)) {
        CAPTURE(name);
        CAPTURE(n);
        device_array<T> const input(values, 1);
        tally::cuda::tracker<metric, Tuning> device;
        device.update(tally::values(input.data(), n));
        device.update(tally::values(input.data() + 1, n - 1));
        tally::exact_sum<T> expected;
        for (auto const x : values) {
            expected.deposit(x);
        }
        for (std::size_t i = 1; i < n; ++i) {
            expected.deposit(values[i]);
        }
        CHECK(device.merged().template get<1>().sum == expected);
    }
}

/// One block: every thread adds its numbers to its own window, warps move their windows to the block's digits.
template <class T, class Number>
__global__ void sum_by_warps(float const* x, std::size_t n, unsigned long long* words) {
    using shared_type = tally::cuda::detail::shared_digits<T>;
    __shared__ shared_type shared;
    shared.clear();
    __syncthreads();
    tally::cuda::detail::exact_window<T, Number> window;
    for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) {
        Number const one[1] = {static_cast<Number>(x[i]) * (sizeof(Number) == 8 ? static_cast<Number>(x[i]) : 1)};
        window.add(one, shared);
    }
    window.flush_warp(shared);
    window.flush_warp(shared); // there is nothing left
    __syncthreads();
    for (auto i = threadIdx.x; i < shared_type::words; i += blockDim.x) {
        words[i] = shared.word[i];
    }
}

template <class T, class Number>
tally::exact_sum<T> sum_of_block(std::vector<float> const& values) {
    constexpr auto words = tally::cuda::detail::shared_digits<T>::words;
    device_array<float> const input(values, 0);
    std::vector<unsigned long long> result(words);
    unsigned long long* on_device = nullptr;
    tally::cuda::check(cudaMalloc(&on_device, words * sizeof(*on_device)), "cudaMalloc");
    sum_by_warps<T, Number><<<1, 96>>>(input.data(), values.size(), on_device);
    tally::cuda::check(cudaMemcpy(result.data(), on_device, words * sizeof(*on_device), cudaMemcpyDeviceToHost),
                       "cudaMemcpy");
    tally::cuda::check(cudaFree(on_device), "cudaFree");
    std::vector<std::uint64_t> const copy(result.begin(), result.end());
    tally::exact_sum<T> sum;
    tally::detail::part_reader reader{copy.data()};
    sum.parts(reader);
    return sum;
}

/// What a tracker keeps of a table's cell on the device, with digits so large that a few more deposits would not fit.
__global__ void deposit_into_cell(unsigned long long* words, float x, int times) {
    for (int i = 0; i < times; ++i) {
        tally::exact_sum<float> one;
        one.deposit(x);
        tally::cuda::detail::merge_into_cell(reinterpret_cast<std::byte*>(words), nullptr, one);
    }
}
/// The same for the sum of a block.
__global__ void add_block_sum(unsigned long long* words, float x, int times) {
    __shared__ tally::cuda::detail::shared_digits<float> shared;
    for (int i = 0; i < times; ++i) {
        shared.clear();
        __syncthreads();
        shared.add(tally::detail::decompose(x));
        __syncthreads();
        if (threadIdx.x < 32) {
            tally::cuda::detail::merge_shared(shared, reinterpret_cast<std::byte*>(words));
        }
        __syncthreads();
    }
}

tally::exact_sum<float> sum_of_words(std::vector<std::uint64_t> const& words) {
    tally::exact_sum<float> sum;
    tally::detail::part_reader reader{words.data()};
    sum.parts(reader);
    return sum;
}

} // namespace

TEST_CASE("exact sums on a device: digits hand on what would not fit, however often they are added to") {
    constexpr auto digits = tally::cuda::detail::shared_digits<float>::digits;
    for (float const sign : {1.0F, -1.0F}) {
        for (auto const kernel : {deposit_into_cell, add_block_sum}) {
            std::vector<std::uint64_t> words(tally::cuda::detail::shared_digits<float>::words);
            // All threads add to a cell at once; of a block's sum, only one does, and less than 2^32.
            auto const room = std::uint64_t{1} << (kernel == add_block_sum ? 36 : 40);
            auto const nearly_full = (std::uint64_t{1} << 63) - room;
            for (std::size_t i = 0; i + 1 < digits; ++i) {
                words[i] = sign > 0 ? nearly_full : 0 - nearly_full;
            }
            device_array<std::uint64_t> const cell(words);
            auto expected = sum_of_words(words);
            auto const x = sign * 0x1.fffffep-22F; // 0xffffff00 in its digit
            constexpr int times = 40;
            constexpr int threads = 64;
            kernel<<<1, threads>>>(reinterpret_cast<unsigned long long*>(cell.data()), x, times);
            tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
            for (int i = 0; i < times * threads; ++i) {
                expected.deposit(x);
            }
            tally::cuda::check(
                cudaMemcpy(words.data(), cell.data(), words.size() * sizeof(words[0]), cudaMemcpyDeviceToHost),
                "cudaMemcpy");
            CHECK(sum_of_words(words) == expected);
        }
    }
}

TEST_CASE("exact sums: a warp's windows at equal and at different places are added up without loss") {
    for (std::size_t const n : {1UL, 40UL, 96UL, 20000UL}) {
        for (auto const& [name, values] : data_sets<float>(n < 10 ? 10 : n)) {
            CAPTURE(name);
            CAPTURE(n);
            tally::exact_sum<float> expected;
            tally::exact_sum<tally::product<float>> squares;
            for (auto const x : values) {
                expected.deposit(x);
                squares.deposit(x, x);
            }
            CHECK(sum_of_block<float, float>(values) == expected);
            CHECK(sum_of_block<tally::product<float>, double>(values) == squares);
        }
    }
}

TEST_CASE("exact sums of floats and doubles are the host's, digit by digit") {
    for (std::size_t const n : {2UL, 33UL, 5003UL, 70001UL}) {
        check_values<float, tally::cuda::default_tuning>(n);
    }
    check_values<double, tally::cuda::default_tuning>(5003);
    check_values<float, small_blocks>(5003);
    check_values<double, small_blocks>(501);
}

TEST_CASE("exact sums of squares and of weighted values") {
    std::size_t const n = 9001;
    std::vector<float> weights(n);
    for (std::size_t i = 0; i < n; ++i) {
        weights[i] = static_cast<float>(i % 13) * 0.37F;
    }
    device_array<float> const w(weights);
    for (auto const& [name, values] : data_sets<float>(n)) {
        CAPTURE(name);
        device_array<float> const input(values);
        tally::cuda::tracker<sum_of_squares> squares;
        squares.update(tally::values(input.data(), n));
        tally::cuda::tracker<weighted_sum> weighted;
        weighted.update(tally::values(input.data(), n), tally::weights(w.data(), n));
        tally::exact_sum<tally::product<float>> expected_squares;
        tally::exact_sum<tally::product<float>> expected_weighted;
        for (std::size_t i = 0; i < n; ++i) {
            expected_squares.deposit(values[i], values[i]);
            expected_weighted.deposit(values[i], weights[i]);
        }
        CHECK(squares.merged().get<1>().sum == expected_squares);
        if (name == "losses") {
            CHECK(squares.finalize().get() == expected_squares.value());
            CHECK(weighted.finalize().get() == expected_weighted.value());
        }
        CHECK(weighted.merged().get<1>().sum == expected_weighted);
    }
}

TEST_CASE("cells of exact sums in a table") {
    using metric = tally::grouped<plain_sum<float, tally::exact_sum<float>>, 5>;
    std::size_t const n = 4001;
    std::vector<std::int32_t> groups(n);
    for (std::size_t i = 0; i < n; ++i) {
        groups[i] = static_cast<std::int32_t>(i * 7 % 6);
    }
    device_array<std::int32_t> const g(groups);
    for (auto const& [name, values] : data_sets<float>(n)) {
        CAPTURE(name);
        device_array<float> const input(values);
        tally::cuda::tracker<metric> device;
        tally::host::tracker<metric> host;
        device.update(tally::values(input.data(), n), tally::groups(g.data(), n));
        host.update(tally::values(values), tally::groups(groups));
        auto const got = device.merged();
        auto const expected = host.merged();
        for (std::size_t k = 0; k < 5; ++k) {
            CHECK(got.get<1>().cells(k).state().sum == expected.get<1>().cells(k).state().sum);
        }
        CHECK(got.get<1>().cells.outside() == expected.get<1>().cells.outside());
    }
}

TEST_CASE("instructions of an element of an exact sum" * doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    // At most 12 issued instructions beyond those of a kernel that only counts. PTX has two more: it moves a float to an
    // integer register and a double to another, which the machine, having one kind of register, does not.
    constexpr double moves = 2.0;
    auto const of_an_element = []<class M>(M const*) {
        tally::cuda::tracker<M, long_runs> tracker;
        unsigned long long instructions[2] = {};
        for (std::size_t k = 0; k < 2; ++k) {
            std::size_t const n = (k + 1) << 19;
            std::vector<float> values(n);
            for (std::size_t i = 0; i < n; ++i) {
                values[i] = 1.0F + static_cast<float>(i % 1009) / 512.0F;
            }
            device_array<float> const input(values);
            tally::testing::count_from_here();
            tracker.update(tally::values(input.data(), n));
            tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
            CHECK(tracker.finalize().samples() != 0);
            instructions[k] = counted("element_kernel", "thread_instructions");
        }
        return static_cast<double>(instructions[1] - instructions[0]) / static_cast<double>(std::size_t{1} << 19);
    };
    tally::cuda::tracker<only_count> const unused;
    CHECK(unused.finalize().get() == 0.0);
    auto const exact = of_an_element(static_cast<plain_sum<float, tally::exact_sum<float>>*>(nullptr));
    auto const counting = of_an_element(static_cast<only_count*>(nullptr));
    MESSAGE("PTX instructions an element: exact sum " << exact << ", counting alone " << counting);
    CHECK(exact - counting <= 12.0 + moves);
}
