// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does a log softmax cost whose bits don't depend on the engine? Log loss and the multi-class Brier score of rows of
// scores by both policies, next to a loop over std::exp and to a pure read. One thread.
#include <tally/accumulator/sum.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/brier_score.hpp>
#include <tally/metric/log_loss.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

struct matrix {
    std::size_t rows, columns;
    std::vector<float> scores;
    std::vector<std::int32_t> labels;
};

matrix make(benchmark::State const& state) {
    matrix m{static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)), {}, {}};
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    m.scores.resize(m.rows * m.columns);
    for (auto& s : m.scores) {
        s = normal(random);
    }
    m.labels.resize(m.rows);
    for (auto& label : m.labels) {
        label = static_cast<std::int32_t>(random() % m.columns);
    }
    return m;
}

void report(benchmark::State& state, matrix const& m) {
    auto const scores = static_cast<double>(m.scores.size()) * static_cast<double>(state.iterations());
    state.counters["ns/score"] =
        benchmark::Counter(scores * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Metric>
void update(benchmark::State& state) {
    auto const m = make(state);
    tally::host::tracker<Metric> tracker;
    for (auto _ : state) {
        tracker.update(tally::scores(m.scores, m.columns), tally::targets(m.labels));
    }
    benchmark::DoNotOptimize(tracker.finalize());
    report(state, m);
}

void read(benchmark::State& state) {
    auto const m = make(state);
    for (auto _ : state) {
        std::uint32_t sum = 0;
        for (float const s : m.scores) {
            sum += static_cast<std::uint32_t>(s != 0.0F);
        }
        benchmark::DoNotOptimize(sum);
    }
    report(state, m);
}

void loop(benchmark::State& state) {
    auto const m = make(state);
    for (auto _ : state) {
        double loss = 0;
        for (std::size_t row = 0; row < m.rows; ++row) {
            float const* const s = m.scores.data() + row * m.columns;
            float const top = *std::max_element(s, s + m.columns);
            float sum = 0;
            for (std::size_t c = 0; c < m.columns; ++c) {
                sum += std::exp(s[c] - top);
            }
            loss += static_cast<double>(top - s[m.labels[row]] + std::log(sum));
        }
        benchmark::DoNotOptimize(loss);
    }
    report(state, m);
}

template <class RowSums>
using loss = tally::log_loss<float, tally::sum<double>, tally::unweighted, tally::labels::all, RowSums>;
template <class RowSums>
using brier = tally::multiclass_brier_score<float, tally::sum<double>, tally::unweighted, tally::labels::all, RowSums>;

void add(std::string const& name, void (*function)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name.c_str(), function)
        ->Args({8192, 10})
        ->Args({2048, 100})
        ->Args({256, 1000})
        ->Args({8192, 1000})
        ->Args({64, 50000});
}

} // namespace

int main(int argc, char** argv) {
    add("read", read);
    add("loop over std::exp", loop);
    add("log_loss, reproducible", update<loss<tally::row_sums::reproducible>>);
    add("log_loss, fast", update<loss<tally::row_sums::fast>>);
    add("brier, reproducible", update<brier<tally::row_sums::reproducible>>);
    add("brier, fast", update<brier<tally::row_sums::fast>>);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
