// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// all_reduce of users' own arrays: sums, means and extremes over replicas, all of which get the same bits.
#include <tally/comm/all_reduce.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>
#include <tally/core/half_bits.hpp>
#include <support/counting_communicator.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace op = tally::op;

namespace {

template <class T>
using parts = std::vector<std::vector<T>>;

/// What each replica holds after all_reduce of its part.
template <class T, class Op>
parts<T> reduced(parts<T> given, Op operation) {
    return tally::replicas{static_cast<int>(given.size())}.run([&](tally::thread_communicator& comm) {
        auto mine = given[static_cast<std::size_t>(comm.rank())];
        tally::all_reduce(comm, std::span<T>(mine), operation);
        return mine;
    });
}

template <class T, class Op>
std::vector<T> reduce(parts<T> const& given, Op operation) {
    auto const all = reduced(given, operation);
    for (auto const& each : all) {
        // The same bits everywhere.
        CHECK((each.empty() || std::memcmp(each.data(), all[0].data(), each.size() * sizeof(T)) == 0));
    }
    return all[0];
}

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Two bytes that convert to and from float, as __half does.
class device_half {
public:
    device_half() = default;
    explicit device_half(float x) : bits_{tally::narrow_to<tally::half_bits>(x)} {}
    explicit operator float() const { return tally::widen_bits(bits_); }

private:
    tally::half_bits bits_{};
};

} // namespace

TEST_CASE("all_reduce: integer sums are exact, and wrap") {
    CHECK(reduce<std::int64_t>({{1, -5}, {2, 7}, {3, (std::int64_t{1} << 60)}}, op::sum{}) ==
          std::vector<std::int64_t>{6, 2 + (std::int64_t{1} << 60)});
    CHECK(reduce<std::uint8_t>({{200, 1}, {100, 2}}, op::sum{}) == std::vector<std::uint8_t>{44, 3});
    CHECK(reduce<std::int32_t>({{std::numeric_limits<std::int32_t>::max()}, {1}}, op::sum{}) ==
          std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()});
    CHECK(reduce<std::uint64_t>({{~std::uint64_t{0}}, {2}}, op::sum{}) == std::vector<std::uint64_t>{1});
}

TEST_CASE("all_reduce: sums of floats are formed in double and rounded once") {
    // In float, 2^24 + 1 + 1 stays at 2^24.
    CHECK(reduce<float>({{0x1p24F}, {1.0F}, {1.0F}}, op::sum{}) == std::vector<float>{0x1p24F + 2});
    CHECK(reduce<float>({{3e38F}, {3e38F}, {-3e38F}}, op::sum{}) == std::vector<float>{3e38F});
    CHECK(reduce<double>({{0.1}, {0.2}, {0.3}}, op::sum{}) == std::vector<double>{0.1 + 0.2 + 0.3});
    CHECK(std::isnan(reduce<float>({{infinity}, {-infinity}}, op::sum{})[0]));
}

TEST_CASE("all_reduce: the mean divides the sum by the number of replicas") {
    CHECK(reduce<float>({{1.0F, 3e38F}, {2.0F, 3e38F}, {4.5F, 3e38F}}, op::mean{}) == std::vector<float>{2.5F, 3e38F});
    CHECK(reduce<double>({{1.0}, {2.0}}, op::mean{}) == std::vector<double>{1.5});
    // 65520 ones in half would be infinite before the division.
    auto const half = tally::narrow_to<tally::half_bits>(60000.0F);
    CHECK(reduce<tally::half_bits>({{half}, {half}}, op::mean{})[0].bits == half.bits);
}

TEST_CASE("all_reduce: 16-bit sums are rounded once, to even") {
    auto const brain = [](float x) { return tally::narrow_to<tally::bfloat16_bits>(x); };
    auto const scaled = reduce<tally::bfloat16_bits>({{brain(1), brain(2)}, {brain(3), brain(4)}}, op::mean{});
    CHECK(tally::widen_bits(scaled[0]) == 2.0F);
    CHECK(tally::widen_bits(scaled[1]) == 3.0F);
    // 257 is half way between the bfloat16 256 and 258: to even. A little more must round up, a little less down, also
    // if it is too little for a float: 257 + 2^-40 is 258.
    for (float const sign : {1.0F, -1.0F}) {
        auto const sum = [&](float a, float b, float c) {
            return sign * tally::widen_bits(reduce<tally::bfloat16_bits>(
                              {{brain(sign * a)}, {brain(sign * b)}, {brain(sign * c)}}, op::sum{})[0]);
        };
        CHECK(sum(256, 0.5F, 0.5F) == 256.0F);
        CHECK(sum(256, 1, 0x1p-7F) == 258.0F);
        CHECK(sum(256, 1, 0x1p-40F) == 258.0F);
        CHECK(sum(256, 1, -0x1p-40F) == 256.0F);
        CHECK(sum(258, 1, 0x1p-40F) == 260.0F); // 259 is a tie to 260
        CHECK(sum(258, 1, -0x1p-40F) == 258.0F);
    }
    auto const own = reduce<device_half>({{device_half{1.5F}}, {device_half{2.0F}}}, op::sum{});
    CHECK(static_cast<float>(own[0]) == 3.5F);
}

TEST_CASE("all_reduce: minima and maxima of every type") {
    CHECK(reduce<float>({{1, -2, infinity}, {-3, 5, 0}}, op::min{}) == std::vector<float>{-3, -2, 0});
    CHECK(reduce<float>({{1, -2, -infinity}, {-3, 5, 0}}, op::max{}) == std::vector<float>{1, 5, 0});
    CHECK(reduce<std::int8_t>({{-128, 5}, {127, -5}}, op::min{}) == std::vector<std::int8_t>{-128, -5});
    CHECK(reduce<std::uint64_t>({{0, ~std::uint64_t{0}}, {1, 0}}, op::max{}) ==
          std::vector<std::uint64_t>{1, ~std::uint64_t{0}});
    CHECK(reduce<std::int64_t>({{std::numeric_limits<std::int64_t>::min()}, {0}}, op::max{}) ==
          std::vector<std::int64_t>{0});
    CHECK(reduce<tally::half_bits>({{{0xc000}}, {{0x3c00}}}, op::min{})[0].bits == 0xc000);
    auto const zero = reduce<double>({{0.0, -0.0}, {-0.0, 0.0}}, op::min{});
    CHECK(std::signbit(zero[0]));
    CHECK(std::signbit(zero[1]));
}

TEST_CASE("all_reduce: a NaN of either sign on any replica gives NaN, in that element only") {
    for (float const nan : {not_a_number, -not_a_number}) {
        for (std::size_t replica = 0; replica < 3; ++replica) {
            parts<float> given(3, {1.0F, 2.0F});
            given[replica][0] = nan;
            CHECK(std::isnan(reduce(given, op::min{})[0]));
            CHECK(std::isnan(reduce(given, op::max{})[0]));
            CHECK(std::isnan(reduce(given, op::sum{})[0]));
            CHECK(std::isnan(reduce(given, op::mean{})[0]));
            CHECK(reduce(given, op::max{})[1] == 2.0F);
        }
    }
}

TEST_CASE("all_reduce: arrays longer than a message, and empty ones") {
    constexpr std::size_t n = 2 * tally::detail::all_reduce_chunk + 3;
    parts<float> given(2);
    for (std::size_t i = 0; i < n; ++i) {
        given[0].push_back(static_cast<float>(i % 1000));
        given[1].push_back(static_cast<float>(i % 7));
    }
    auto const sums = reduce(given, op::sum{});
    auto const largest = reduce(given, op::max{});
    std::size_t faults = 0;
    for (std::size_t i = 0; i < n; ++i) {
        faults += sums[i] != given[0][i] + given[1][i];
        faults += largest[i] != std::fmax(given[0][i], given[1][i]);
    }
    CHECK(faults == 0);
    CHECK(reduce<float>({{}, {}}, op::sum{}).empty());

    tally::self_communicator self;
    tally::testing::counting_communicator counted{self};
    std::vector<std::int32_t> integers(n);
    tally::all_reduce(counted, std::span<std::int32_t>(integers), op::sum{});
    CHECK(counted.counted().all_reduce_sum.calls == 3);
    CHECK(counted.counted().all_gather == tally::testing::traffic{1, 72}); // what is asked for, once a call
    counted.forget();
    tally::all_reduce(counted, std::span<std::int32_t>(), op::sum{});
    CHECK(counted.counted().total().calls == 1); // as on the replicas that have data
}

TEST_CASE("all_reduce: different sizes are an error on all replicas") {
    CHECK_THROWS_AS((void)reduced<float>({{1.0F}, {1.0F, 2.0F}}, op::sum{}), tally::layout_mismatch);
    CHECK_THROWS_AS((void)reduced<float>({{}, {1.0F}}, op::max{}), tally::layout_mismatch);
}

TEST_CASE("all_reduce: element types are told apart by kind and size, not by spelling") {
    tally::replicas{2}.run([](tally::thread_communicator& comm) {
        auto const differ = [&]<class A, class B>(A, B) {
            std::vector<A> a{A{}};
            std::vector<B> b{B{}};
            try {
                comm.rank() == 0 ? tally::all_reduce(comm, std::span<A>(a), op::max{})
                                 : tally::all_reduce(comm, std::span<B>(b), op::max{});
            } catch (tally::layout_mismatch const&) {
                return true;
            }
            return false;
        };
        CHECK(differ(tally::half_bits{}, tally::bfloat16_bits{}));
        CHECK(differ(tally::half_bits{}, std::uint16_t{}));
        CHECK(differ(device_half{}, tally::half_bits{}));
        CHECK(differ(std::int32_t{}, std::uint32_t{}));
        CHECK(differ(float{}, double{}));
        CHECK_FALSE(differ(long{}, std::int64_t{}));
        CHECK_FALSE(differ(static_cast<long long>(0), std::int64_t{})); // `long` and `long long`: one of them differs
    });
}

TEST_CASE("all_reduce: one replica keeps what it has") {
    tally::self_communicator self;
    std::vector<float> data{1.5F, -0.0F, infinity};
    tally::all_reduce(self, std::span<float>(data), op::mean{});
    tally::all_reduce(self, std::span<float>(data), op::min{});
    CHECK(data[0] == 1.5F);
    CHECK(data[2] == infinity);
}
