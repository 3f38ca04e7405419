// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does a variance or a covariance cost whose bits don't depend on the order? One thread; a row takes 2^20 floats
// or pairs in blocks of 512, as the host engine deposits them, or one by one, as the cells of a table do. Data as in
// exact_sum.cpp; "far" has a mean of 10^6 deviations.
#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/exact_co_moments.hpp>
#include <tally/accumulator/exact_moments.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/accumulator/probability_sum.hpp>
#include <tally/accumulator/sum.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

enum class data { normal, far, gradients, wide };

std::vector<float> make(data kind, std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(n);
    for (auto& each : x) {
        switch (kind) {
        case data::normal: each = normal(random); break;
        case data::far: each = 1e6F + normal(random); break;
        case data::gradients: each = std::ldexp(normal(random), -static_cast<int>(random() % 60)); break;
        case data::wide:
            do {
                auto const bits = static_cast<std::uint32_t>(random());
                std::memcpy(&each, &bits, sizeof(bits));
            } while (!std::isfinite(each));
        }
    }
    return x;
}

constexpr std::size_t size = std::size_t{1} << 20;
/// Samples of a block, which the compiler must not know.
std::size_t block_size() {
    std::size_t block = 512;
    benchmark::DoNotOptimize(block);
    return block;
}

template <class Acc>
void blocks_of_values(benchmark::State& state, data kind) {
    auto const x = make(kind, size, 1);
    auto const block = block_size();
    for (auto _ : state) {
        Acc acc;
        for (std::size_t i = 0; i < size; i += block) {
            acc.deposit_block(x.data() + i, block);
        }
        benchmark::DoNotOptimize(acc);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
}
template <class Acc>
void blocks_of_pairs(benchmark::State& state, data kind) {
    auto const x = make(kind, size, 1);
    auto const y = make(kind, size, 2);
    auto const block = block_size();
    for (auto _ : state) {
        Acc acc;
        for (std::size_t i = 0; i < size; i += block) {
            acc.deposit_block(tally::pair_block<float, float>{x.data() + i, y.data() + i}, block);
        }
        benchmark::DoNotOptimize(acc);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
}
/// Into cells, as in a table: sample i goes to cell i mod 16.
template <class Acc>
void cells_of_values(benchmark::State& state) {
    auto x = make(data::normal, size, 1);
    for (auto& each : x) {
        each = 0.5F + 0.5F * std::tanh(each); // probabilities as well
    }
    for (auto _ : state) {
        Acc acc[16] = {};
        for (std::size_t i = 0; i < size; ++i) {
            acc[i % 16].deposit(x[i]);
        }
        benchmark::DoNotOptimize(acc);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
}
template <class Acc>
void cells_of_pairs(benchmark::State& state) {
    auto const x = make(data::normal, size, 1);
    auto const y = make(data::normal, size, 2);
    for (auto _ : state) {
        Acc acc[16] = {};
        for (std::size_t i = 0; i < size; ++i) {
            acc[i % 16].deposit(tally::paired(x[i], y[i]));
        }
        benchmark::DoNotOptimize(acc);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
}
/// The value at the end of an evaluation.
template <class Acc>
void variance_of(benchmark::State& state) {
    auto const x = make(data::normal, size, 1);
    Acc acc;
    acc.deposit_block(x.data(), size);
    for (auto _ : state) {
        benchmark::DoNotOptimize(acc);
        benchmark::DoNotOptimize(acc.variance(1));
    }
}

template <class Acc>
void add_blocks_of_values(std::string const& name, data kind) {
    benchmark::RegisterBenchmark(name.c_str(), [kind](benchmark::State& state) {
        blocks_of_values<Acc>(state, kind);
    })->Unit(benchmark::kMicrosecond);
}
template <class Acc>
void add_blocks_of_pairs(std::string const& name, data kind) {
    benchmark::RegisterBenchmark(name.c_str(), [kind](benchmark::State& state) {
        blocks_of_pairs<Acc>(state, kind);
    })->Unit(benchmark::kMicrosecond);
}
template <class Acc>
void add_cells(std::string const& name) {
    benchmark::RegisterBenchmark(name.c_str(), cells_of_values<Acc>)->Unit(benchmark::kMicrosecond);
}
template <class Acc>
void add_cells_of_pairs(std::string const& name) {
    benchmark::RegisterBenchmark(name.c_str(), cells_of_pairs<Acc>)->Unit(benchmark::kMicrosecond);
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    struct {
        data kind;
        std::string name;
    } const sets[] = {
        {data::normal, "normal"}, {data::far, "far"}, {data::gradients, "gradients"}, {data::wide, "wide"}};
    for (auto const& [kind, name] : sets) {
        add_blocks_of_values<tally::moments>("moments, " + name, kind);
        add_blocks_of_values<tally::exact_moments<float>>("exact_moments, " + name, kind);
        add_blocks_of_pairs<tally::co_moments>("co_moments, " + name, kind);
        add_blocks_of_pairs<tally::exact_co_moments<float>>("exact_co_moments, " + name, kind);
    }
    add_cells<tally::moments>("cells of moments");
    add_cells<tally::exact_moments<float>>("cells of exact_moments");
    add_cells_of_pairs<tally::co_moments>("cells of co_moments");
    add_cells_of_pairs<tally::exact_co_moments<float>>("cells of exact_co_moments");
    add_cells<tally::sum<double>>("cells of sum<double>");
    add_cells<tally::exact_sum<float>>("cells of exact_sum<float>");
    add_cells<tally::probability_sum>("cells of probability_sum");
    benchmark::RegisterBenchmark("variance of exact_moments", variance_of<tally::exact_moments<float>>);
    benchmark::RunSpecifiedBenchmarks();
}
