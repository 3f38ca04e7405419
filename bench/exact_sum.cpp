// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does a sum cost that is exact, next to sums that are not? One thread; data of similar sizes (losses), sizes over 60
// binades as in gradients of many layers, the bits of any finite float (wide), and data that cancel. A row is a single sum of
// 2^20 or 2^24 floats; blocks of 512 are what the host engine deposits at once.
#include <tally/accumulator/compensated_sum.hpp>
#include <tally/accumulator/exact_sum.hpp>
#include <tally/accumulator/fixed_sum.hpp>
#include <tally/accumulator/probability_sum.hpp>
#include <tally/accumulator/sum.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

namespace {

enum class data { losses, gradients, wide, cancelling };

std::vector<float> make(data kind, std::size_t n) {
    std::mt19937 random(1);
    std::vector<float> x(n);
    std::uniform_real_distribution<float> uniform(0.0F, 4.0F);
    for (std::size_t i = 0; i < n; ++i) {
        switch (kind) {
        case data::losses: x[i] = uniform(random); break;
        case data::gradients: x[i] = std::ldexp(uniform(random) - 2.0F, -static_cast<int>(random() % 60)); break;
        case data::cancelling: x[i] = (i % 2 == 0 ? 1.0F : -1.0F) * 3e38F; break;
        case data::wide:
            do {
                auto const bits = static_cast<std::uint32_t>(random());
                std::memcpy(&x[i], &bits, sizeof(bits));
            } while (!std::isfinite(x[i]));
        }
    }
    return x;
}

/// Sums x once: Sum(x) -> number.
template <class Sum>
void measure(benchmark::State& state, data kind, Sum sum) {
    auto const x = make(kind, static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(sum(x));
    }
    state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(sizeof(float)));
}

double exact(std::vector<float> const& x) {
    tally::exact_sum<float> sum;
    sum.deposit_block(x.data(), x.size());
    return sum.value();
}
double exact_in_tiles(std::vector<float> const& x) {
    tally::exact_sum<float> sum;
    constexpr std::size_t tile = 512;
    for (std::size_t i = 0; i < x.size(); i += tile) { // sizes are powers of two
        sum.deposit_block(x.data() + i, tile);
    }
    return sum.value();
}
double exact_squares(std::vector<float> const& x) {
    tally::exact_sum<tally::product<float>> sum;
    sum.deposit_block(x.data(), x.data(), x.size());
    return sum.value();
}
double fixed(std::vector<float> const& x) {
    tally::fixed_sum<-24> sum;
    sum.deposit_block(x.data(), x.size());
    return sum.value();
}
double compensated(std::vector<float> const& x) {
    tally::compensated_sum<> sum;
    sum.deposit_block(x.data(), x.size());
    return sum.value();
}
double in_double(std::vector<float> const& x) {
    tally::sum<double> sum;
    sum.deposit_block(x.data(), x.size());
    return sum.value();
}
double in_float(std::vector<float> const& x) {
    tally::sum<float> sum;
    sum.deposit_block(x.data(), x.size());
    return static_cast<double>(sum.value());
}
double exact_in_double(std::vector<float> const& x) {
    tally::exact_sum<double> sum;
    double tile[512];
    for (std::size_t i = 0; i < x.size(); i += std::size(tile)) {
        std::copy_n(x.data() + i, std::size(tile), tile);
        sum.deposit_block(tile, std::size(tile));
    }
    return sum.value();
}
double probabilities(std::vector<float> const& x) {
    tally::probability_sum sum;
    for (float const each : x) {
        sum.deposit(each * 0.25F); // losses are below 4
    }
    return sum.value();
}
float reduced(std::vector<float> const& x) { return std::reduce(x.begin(), x.end()); }
long double in_long_double(std::vector<float> const& x) {
    long double sum = 0.0L;
    for (auto const each : x) {
        sum += static_cast<long double>(each);
    }
    return sum;
}
double neumaier(std::vector<float> const& x) {
    float sum = 0.0F;
    float rest = 0.0F;
    for (auto const each : x) {
        float const next = sum + each;
        rest += std::fabs(sum) >= std::fabs(each) ? (sum - next) + each : (each - next) + sum;
        sum = next;
    }
    return static_cast<double>(sum) + static_cast<double>(rest);
}

#define TALLY_MEASURE(name, kind, sum)                                                                                 \
    BENCHMARK_CAPTURE(measure, name, data::kind, sum)->Arg(1 << 20)->Arg(1 << 24)->Unit(benchmark::kMicrosecond)

TALLY_MEASURE(reduce_losses, losses, reduced);
TALLY_MEASURE(double_losses, losses, in_double);
TALLY_MEASURE(long_double_losses, losses, in_long_double);
TALLY_MEASURE(neumaier_losses, losses, neumaier);
TALLY_MEASURE(exact_losses, losses, exact);
TALLY_MEASURE(exact_gradients, gradients, exact);
TALLY_MEASURE(exact_wide, wide, exact);
TALLY_MEASURE(exact_cancelling, cancelling, exact);
TALLY_MEASURE(exact_in_tiles_losses, losses, exact_in_tiles);
TALLY_MEASURE(exact_in_tiles_gradients, gradients, exact_in_tiles);
TALLY_MEASURE(exact_squares_losses, losses, exact_squares);
TALLY_MEASURE(exact_squares_gradients, gradients, exact_squares);
TALLY_MEASURE(exact_squares_wide, wide, exact_squares);
TALLY_MEASURE(compensated_losses, losses, compensated);
TALLY_MEASURE(fixed_losses, losses, fixed);
TALLY_MEASURE(float_losses, losses, in_float);
TALLY_MEASURE(exact_double_losses, losses, exact_in_double);
TALLY_MEASURE(probability_losses, losses, probabilities);

} // namespace

BENCHMARK_MAIN();
