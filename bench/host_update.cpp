// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does an update cost on the host, next to a pure read of the same bytes and to what a user would write instead?
//
//   read/...           a vectorised sum of the same bytes: the floor
//   tally/...          one tracker, fused
//   separate/...       one tracker for each metric
//   loop/...           a hand-written loop for each metric
//   boost/...          Boost.Accumulators and Boost.Histogram for the work they do too
//   peer/...           the work of bench/peers, 1 and 2 threads
//
// Rows print bytes_per_second (of the inputs, read once) and items_per_second (samples).
#include <benchmark/benchmark.h>

#include <tally/collection.hpp>
#include <tally/host/tracker.hpp>
#include <tally/layout/bins.hpp>
#include <tally/metric/absolute_error.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/calibration_error.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/correlation.hpp>
#include <tally/metric/histogram.hpp>
#include <tally/metric/log_loss.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/r2_score.hpp>
#include <tally/metric/squared_error.hpp>
#include <tally/metric/variance.hpp>
#if defined(_OPENMP)
#include <tally/host/openmp.hpp>
#endif

#if __has_include(<boost/accumulators/accumulators.hpp>)
#define BENCH_BOOST
#include <boost/accumulators/accumulators.hpp>
#include <boost/accumulators/statistics/max.hpp>
#include <boost/accumulators/statistics/mean.hpp>
#include <boost/accumulators/statistics/stats.hpp>
#include <boost/accumulators/statistics/variance.hpp>
#include <boost/histogram.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace tally;

// ---- inputs ---------------------------------------------------------------------------------------------------------

struct pairs {
    std::vector<float> predictions;
    std::vector<float> targets;
};

pairs make_pairs(std::size_t n) {
    std::mt19937 random{1};
    std::normal_distribution<float> normal;
    pairs p{std::vector<float>(n), std::vector<float>(n)};
    for (std::size_t i = 0; i < n; ++i) {
        p.predictions[i] = normal(random);
        p.targets[i] = p.predictions[i] + 0.5F * normal(random);
    }
    return p;
}

struct score_matrix {
    std::size_t rows;
    std::size_t columns;
    std::vector<float> logits;
    std::vector<std::int64_t> labels;
};

score_matrix make_scores(std::size_t rows, std::size_t columns) {
    std::mt19937 random{1};
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> unit;
    score_matrix m{rows, columns, std::vector<float>(rows * columns), std::vector<std::int64_t>(rows)};
    std::generate(m.logits.begin(), m.logits.end(), [&] { return normal(random); });
    auto const lift = 2.0F * std::sqrt(2.0F * std::log(static_cast<float>(columns)));
    for (std::size_t row = 0; row < rows; ++row) {
        auto const label = random() % columns;
        m.labels[row] = static_cast<std::int64_t>(label);
        m.logits[row * columns + label] += lift * unit(random);
    }
    return m;
}

void report(benchmark::State& state, std::size_t samples, std::size_t bytes) {
    state.SetItemsProcessed(static_cast<std::int64_t>(samples) * state.iterations());
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

// ---- pure read ------------------------------------------------------------------------------------------------------

float read_all(std::vector<float> const& x) {
    constexpr std::size_t lanes = 64;
    float sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= x.size(); i += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            sums[k] += x[i + k];
        }
    }
    for (; i < x.size(); ++i) {
        sums[0] += x[i];
    }
    float total = 0.0F;
    for (auto const s : sums) {
        total += s;
    }
    return total;
}

void read_pairs(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_all(p.predictions));
        benchmark::DoNotOptimize(read_all(p.targets));
    }
    report(state, p.targets.size(), 8 * p.targets.size());
}

void read_scores(benchmark::State& state) {
    auto const m = make_scores(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_all(m.logits));
    }
    report(state, m.rows, 4 * m.logits.size());
}

// ---- scalar metrics over pairs --------------------------------------------------------------------------------------

using one_metric = collection<named<"mse", mean_squared_error<>>>;
using three_metrics = collection<named<"mse", mean_squared_error<>>, named<"mae", mean_absolute_error<>>,
                                 named<"max error", max_error<>>>;
using ten_metrics =
    collection<named<"mse", mean_squared_error<>>, named<"rmse", root_mean_squared_error<>>,
               named<"mae", mean_absolute_error<>>, named<"bias", mean_error<>>, named<"max error", max_error<>>,
               named<"r2", r2_score<>>, named<"explained variance", explained_variance<>>,
               named<"pearson", pearson_correlation<>>, named<"covariance", covariance<>>,
               named<"concordance", concordance<>>>;

template <class M>
void update_pairs(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    host::tracker<M> tracker;
    for (auto _ : state) {
        tracker.update(predictions(p.predictions), targets(p.targets));
        benchmark::ClobberMemory();
    }
    report(state, p.targets.size(), 8 * p.targets.size());
}

template <class M>
struct separate_trackers;
template <class... Named>
struct separate_trackers<collection<Named...>> {
    std::tuple<host::tracker<typename Named::metric>...> trackers;
    template <class... Inputs>
    void update(Inputs const&... inputs) {
        std::apply([&](auto&... tracker) { (tracker.update(inputs...), ...); }, trackers);
    }
};

template <class M>
void update_pairs_separately(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    separate_trackers<M> trackers;
    for (auto _ : state) {
        trackers.update(predictions(p.predictions), targets(p.targets));
        benchmark::ClobberMemory();
    }
    report(state, p.targets.size(), 8 * p.targets.size());
}

/// What one writes by hand: a loop for each metric, summing in double.
void loop_three(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        double squares = 0.0;
        for (std::size_t i = 0; i < p.targets.size(); ++i) {
            auto const e = static_cast<double>(p.predictions[i] - p.targets[i]);
            squares += e * e;
        }
        double absolutes = 0.0;
        for (std::size_t i = 0; i < p.targets.size(); ++i) {
            absolutes += std::fabs(p.predictions[i] - p.targets[i]);
        }
        float largest = 0.0F;
        for (std::size_t i = 0; i < p.targets.size(); ++i) {
            largest = std::max(largest, std::fabs(p.predictions[i] - p.targets[i]));
        }
        benchmark::DoNotOptimize(squares);
        benchmark::DoNotOptimize(absolutes);
        benchmark::DoNotOptimize(largest);
    }
    report(state, p.targets.size(), 8 * p.targets.size());
}

/// Ten metrics by hand: ten loops, in double, with the usual two passes where a mean is needed first.
void loop_ten(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    auto const n = static_cast<double>(p.targets.size());
    auto const& a = p.predictions;
    auto const& b = p.targets;
    auto const sum_over = [&](auto term) {
        double sum = 0.0;
        for (std::size_t i = 0; i < b.size(); ++i) {
            sum += term(static_cast<double>(a[i]), static_cast<double>(b[i]));
        }
        return sum;
    };
    auto const squared_error = [](double x, double y) { return (x - y) * (x - y); };
    auto const mean_a = [&] { return sum_over([](double x, double) { return x; }) / n; };
    auto const mean_b = [&] { return sum_over([](double, double y) { return y; }) / n; };
    auto const spread_b = [&](double m) { return sum_over([m](double, double y) { return (y - m) * (y - m); }); };
    auto const spread_a = [&](double m) { return sum_over([m](double x, double) { return (x - m) * (x - m); }); };
    auto const joint = [&](double ma, double mb) {
        return sum_over([ma, mb](double x, double y) { return (x - ma) * (y - mb); });
    };
    for (auto _ : state) {
        double const results[] = {
            sum_over(squared_error) / n,
            std::sqrt(sum_over(squared_error) / n),
            sum_over([](double x, double y) { return std::fabs(x - y); }) / n,
            sum_over([](double x, double y) { return x - y; }) / n,
            [&] {
                double largest = 0.0;
                for (std::size_t i = 0; i < b.size(); ++i) {
                    largest = std::max(largest, static_cast<double>(std::fabs(a[i] - b[i])));
                }
                return largest;
            }(),
            1.0 - sum_over(squared_error) / spread_b(mean_b()),
            [&] {
                auto const bias = sum_over([](double x, double y) { return x - y; }) / n;
                return 1.0 - sum_over([bias](double x, double y) { return (x - y - bias) * (x - y - bias); }) /
                                 spread_b(mean_b());
            }(),
            [&] {
                auto const ma = mean_a();
                auto const mb = mean_b();
                return joint(ma, mb) / std::sqrt(spread_a(ma) * spread_b(mb));
            }(),
            joint(mean_a(), mean_b()) / (n - 1),
            [&] {
                auto const ma = mean_a();
                auto const mb = mean_b();
                return 2 * joint(ma, mb) / (spread_a(ma) + spread_b(mb) + n * (ma - mb) * (ma - mb));
            }()};
        benchmark::DoNotOptimize(results);
    }
    report(state, p.targets.size(), 8 * p.targets.size());
}

void tally_variance(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    host::tracker<variance<>> tracker;
    for (auto _ : state) {
        tracker.update(values(p.predictions));
        benchmark::ClobberMemory();
    }
    report(state, p.predictions.size(), 4 * p.predictions.size());
}

using bins_of_bench = linear_bins<64, std::ratio<-4>, std::ratio<4>>;

void tally_histogram(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    host::tracker<histogram<bins_of_bench>> tracker;
    for (auto _ : state) {
        tracker.update(values(p.predictions));
        benchmark::ClobberMemory();
    }
    report(state, p.predictions.size(), 4 * p.predictions.size());
}

#if defined(BENCH_BOOST)
void boost_variance(benchmark::State& state) {
    namespace acc = boost::accumulators;
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        acc::accumulator_set<double, acc::stats<acc::tag::mean, acc::tag::variance>> set;
        for (auto const x : p.predictions) {
            set(static_cast<double>(x));
        }
        benchmark::DoNotOptimize(acc::variance(set));
    }
    report(state, p.predictions.size(), 4 * p.predictions.size());
}

void boost_histogram(benchmark::State& state) {
    auto const p = make_pairs(static_cast<std::size_t>(state.range(0)));
    auto histogram = boost::histogram::make_histogram(boost::histogram::axis::regular<float>(64, -4.0F, 4.0F));
    for (auto _ : state) {
        histogram.fill(p.predictions);
        benchmark::ClobberMemory();
    }
    report(state, p.predictions.size(), 4 * p.predictions.size());
}
#endif

// ---- score matrices -------------------------------------------------------------------------------------------------

template <std::size_t Classes>
using matrix_metrics =
    collection<named<"top-1", accuracy<>>, named<"top-5", accuracy<top_k<5>>>, named<"loss", log_loss<>>,
               named<"calibration", calibration_error<15>>, named<"confusion", confusion_matrix<Classes>>>;
using matrix_metrics_without_confusion =
    collection<named<"top-1", accuracy<>>, named<"top-5", accuracy<top_k<5>>>, named<"loss", log_loss<>>,
               named<"calibration", calibration_error<15>>>;

template <class M>
void update_scores(benchmark::State& state) {
    auto const m = make_scores(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    host::tracker<M> tracker;
    for (auto _ : state) {
        tracker.update(scores(m.logits, m.columns), targets(m.labels));
        benchmark::ClobberMemory();
    }
    report(state, m.rows, 4 * m.logits.size());
}

/// One loop over the matrix for each metric, as one writes them by hand.
void loop_scores(benchmark::State& state) {
    auto const m = make_scores(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    std::vector<std::uint64_t> confusion(m.columns <= 1000 ? m.columns * m.columns : 0);
    auto const row_of = [&](std::size_t row) { return m.logits.data() + row * m.columns; };
    auto const arg_max = [&](std::size_t row) {
        return static_cast<std::size_t>(std::max_element(row_of(row), row_of(row) + m.columns) - row_of(row));
    };
    for (auto _ : state) {
        std::size_t top1 = 0;
        std::size_t top5 = 0;
        double loss = 0.0;
        double confidence[15] = {};
        double correct[15] = {};
        for (std::size_t row = 0; row < m.rows; ++row) {
            top1 += arg_max(row) == static_cast<std::size_t>(m.labels[row]);
        }
        for (std::size_t row = 0; row < m.rows; ++row) {
            auto const* const s = row_of(row);
            auto const score = s[m.labels[row]];
            top5 += std::count_if(s, s + m.columns, [score](float x) { return x > score; }) < 5;
        }
        auto const sum_exp = [&](std::size_t row, float top) {
            float sum = 0.0F;
            for (std::size_t c = 0; c < m.columns; ++c) {
                sum += std::exp(row_of(row)[c] - top);
            }
            return sum;
        };
        for (std::size_t row = 0; row < m.rows; ++row) {
            auto const* const s = row_of(row);
            auto const top = *std::max_element(s, s + m.columns);
            loss += static_cast<double>(top + std::log(sum_exp(row, top)) - s[m.labels[row]]);
        }
        for (std::size_t row = 0; row < m.rows; ++row) {
            auto const* const s = row_of(row);
            auto const best = arg_max(row);
            auto const p = 1.0F / sum_exp(row, s[best]);
            auto const bin = std::min(14, static_cast<int>(p * 15.0F));
            confidence[bin] += static_cast<double>(p);
            correct[bin] += best == static_cast<std::size_t>(m.labels[row]) ? 1.0 : 0.0;
        }
        if (!confusion.empty()) {
            for (std::size_t row = 0; row < m.rows; ++row) {
                ++confusion[static_cast<std::size_t>(m.labels[row]) * m.columns + arg_max(row)];
            }
        }
        benchmark::DoNotOptimize(top1);
        benchmark::DoNotOptimize(top5);
        benchmark::DoNotOptimize(loss);
        benchmark::DoNotOptimize(confidence);
        benchmark::DoNotOptimize(correct);
        benchmark::ClobberMemory();
    }
    report(state, m.rows, 4 * m.logits.size());
}

// ---- the work of bench/peers ----------------------------------------------------------------------------------------

template <class Execution>
void peer_three_scalars(benchmark::State& state, Execution execution) {
    auto const p = make_pairs(std::size_t{1} << 20);
    host::tracker<
        collection<named<"mse", mean_squared_error<>>, named<"mae", mean_absolute_error<>>, named<"mean", mean<>>>,
        Execution>
        tracker{execution};
    for (auto _ : state) {
        tracker.update(predictions(p.predictions), targets(p.targets), values(p.predictions));
        benchmark::ClobberMemory();
    }
    report(state, p.targets.size(), 8 * p.targets.size());
}

template <class M, class Execution>
void peer_score_matrix(benchmark::State& state, std::size_t rows, std::size_t columns, Execution execution) {
    auto const m = make_scores(rows, columns);
    host::tracker<M, Execution> tracker{execution};
    for (auto _ : state) {
        tracker.update(scores(m.logits, m.columns), targets(m.labels));
        benchmark::ClobberMemory();
    }
    report(state, m.rows, 4 * m.logits.size());
}

template <class Execution>
void register_peers(std::string const& threads, Execution execution) {
    auto const add = [&](std::string const& name, auto function) {
        benchmark::RegisterBenchmark(("peer/" + name + "/threads:" + threads).c_str(), function)->UseRealTime();
    };
    add("three_scalars/1048576", [=](benchmark::State& s) { peer_three_scalars(s, execution); });
    add("score_matrix/8192x10",
        [=](benchmark::State& s) { peer_score_matrix<matrix_metrics<10>>(s, 8192, 10, execution); });
    add("score_matrix/8192x1000",
        [=](benchmark::State& s) { peer_score_matrix<matrix_metrics<1000>>(s, 8192, 1000, execution); });
    add("score_matrix/64x50000",
        [=](benchmark::State& s) { peer_score_matrix<matrix_metrics_without_confusion>(s, 64, 50000, execution); });
}

void register_all() {
    auto const over_sizes = [](char const* name, auto function) {
        benchmark::RegisterBenchmark(name, function)->RangeMultiplier(4)->Range(1 << 10, 1 << 24);
    };
    over_sizes("read/pairs", read_pairs);
    over_sizes("tally/pairs/1", update_pairs<one_metric>);
    over_sizes("tally/pairs/3", update_pairs<three_metrics>);
    over_sizes("tally/pairs/10", update_pairs<ten_metrics>);
    over_sizes("separate/pairs/3", update_pairs_separately<three_metrics>);
    over_sizes("separate/pairs/10", update_pairs_separately<ten_metrics>);
    over_sizes("loop/pairs/3", loop_three);
    over_sizes("loop/pairs/10", loop_ten);
    over_sizes("tally/variance", tally_variance);
    over_sizes("tally/histogram", tally_histogram);
#if defined(BENCH_BOOST)
    over_sizes("boost/variance", boost_variance);
    over_sizes("boost/histogram", boost_histogram);
#endif
    auto const matrix = [](char const* name, auto function, std::int64_t rows, std::int64_t columns) {
        benchmark::RegisterBenchmark(name, function)->Args({rows, columns});
    };
    matrix("read/scores", read_scores, 8192, 10);
    matrix("read/scores", read_scores, 8192, 1000);
    matrix("read/scores", read_scores, 64, 50000);
    matrix("tally/scores", update_scores<matrix_metrics<10>>, 8192, 10);
    matrix("tally/scores", update_scores<matrix_metrics<1000>>, 8192, 1000);
    matrix("tally/scores", update_scores<matrix_metrics_without_confusion>, 64, 50000);
    matrix("loop/scores", loop_scores, 8192, 10);
    matrix("loop/scores", loop_scores, 8192, 1000);
    matrix("loop/scores", loop_scores, 64, 50000);
    register_peers("1", host::serial{});
#if defined(_OPENMP)
    register_peers("2", host::openmp{2});
#endif
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    register_all();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
