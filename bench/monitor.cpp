// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does a gradient monitor cost on the host, one thread, next to a pure read of the gradients and to what a user
// would write instead? Gradients are normal numbers, the same in all rows of a size; one iteration is one step.
//
//   read/...       a vectorised sum of the same bytes: the floor
//   tally/...      begin_step, observe, end_step of one layer: float, bfloat16, half, float with a loss scale
//   loop/...       a hand-written loop for the same statistics, histogram of 64 octaves by std::ilogb
//   layers/...     a model of 200 layers of mixed sizes, 64 to 1,048,576 elements: read, one step, one combine
//
// Rows print bytes_per_second (of the gradients, read once) and items_per_second (elements).
#include <benchmark/benchmark.h>

#include <tally/comm/self.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/monitor/gradient_monitor.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace tally;
using monitor = host::gradient_monitor<partitioned>;

std::vector<float> make_gradient(std::size_t n, unsigned seed = 1) {
    std::mt19937 random{seed};
    std::normal_distribution<float> normal{0.0F, 1e-3F};
    std::vector<float> g(n);
    std::generate(g.begin(), g.end(), [&] { return normal(random); });
    return g;
}

void report(benchmark::State& state, std::size_t elements, std::size_t bytes) {
    state.SetItemsProcessed(static_cast<std::int64_t>(elements) * state.iterations());
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

void read_floats(benchmark::State& state) {
    auto const g = make_gradient(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_all(g));
    }
    report(state, g.size(), 4 * g.size());
}

// ---- one layer ------------------------------------------------------------------------------------------------------

void observe(benchmark::State& state, gradient_view gradient, std::size_t bytes, float loss_scale) {
    layer_registry layers;
    layers.add("layer", gradient.size, gradient.type);
    monitor m{layers};
    for (auto _ : state) {
        m.begin_step({.loss_scale = loss_scale});
        m.observe(0, gradient);
        m.end_step();
        benchmark::ClobberMemory();
    }
    report(state, gradient.size, bytes);
}

void tally_floats(benchmark::State& state) {
    auto const g = make_gradient(static_cast<std::size_t>(state.range(0)));
    observe(state, g, 4 * g.size(), 1.0F);
}
void tally_scaled_floats(benchmark::State& state) {
    auto const g = make_gradient(static_cast<std::size_t>(state.range(0)));
    observe(state, g, 4 * g.size(), 1024.0F);
}

template <class Bits>
void tally_16_bits(benchmark::State& state) {
    auto const g = make_gradient(static_cast<std::size_t>(state.range(0)));
    std::vector<Bits> narrow(g.size());
    std::transform(g.begin(), g.end(), narrow.begin(), narrow_to<Bits>);
    observe(state, narrow, 2 * g.size(), 1.0F);
}

void loop_floats(benchmark::State& state) {
    auto const g = make_gradient(static_cast<std::size_t>(state.range(0)));
    std::array<std::uint64_t, 130> histogram{};
    for (auto _ : state) {
        double total = 0, magnitudes = 0, squares = 0, largest = 0;
        std::uint64_t zeros = 0, nans = 0, infinities = 0;
        for (auto const x : g) {
            if (std::isnan(x)) {
                ++nans;
            } else if (std::isinf(x)) {
                ++infinities;
            } else if (x == 0.0F) {
                ++zeros;
            } else {
                auto const magnitude = static_cast<double>(std::abs(x));
                total += static_cast<double>(x);
                magnitudes += magnitude;
                squares += magnitude * magnitude;
                largest = std::max(largest, magnitude);
                ++histogram[static_cast<std::size_t>(std::clamp(std::ilogb(x) + 48, 0, 64)) + (x < 0 ? 65 : 0)];
            }
        }
        benchmark::DoNotOptimize(total + magnitudes + squares + largest);
        benchmark::DoNotOptimize(zeros + nans + infinities);
        benchmark::DoNotOptimize(histogram.data());
        benchmark::ClobberMemory();
    }
    report(state, g.size(), 4 * g.size());
}

// ---- a model --------------------------------------------------------------------------------------------------------

struct model {
    layer_registry layers;
    std::vector<std::vector<float>> gradients;
    std::vector<gradient_view> views;
    std::size_t elements = 0;
};

model make_model() {
    model m;
    for (unsigned i = 0; i < 200; ++i) {
        std::size_t const size = i % 2 != 0 ? 64U << (i % 5) : 1024U << (i % 11); // biases and kernels
        m.layers.add("layer_" + std::to_string(i), size);
        m.gradients.push_back(make_gradient(size, i));
        m.elements += size;
    }
    m.views.assign(m.gradients.begin(), m.gradients.end());
    return m;
}

void read_layers(benchmark::State& state) {
    auto const m = make_model();
    for (auto _ : state) {
        for (auto const& g : m.gradients) {
            benchmark::DoNotOptimize(read_all(g));
        }
    }
    report(state, m.elements, 4 * m.elements);
}

void tally_layers(benchmark::State& state) {
    auto const m = make_model();
    monitor watch{m.layers};
    for (auto _ : state) {
        watch.begin_step();
        watch.observe(m.views);
        watch.end_step();
        benchmark::ClobberMemory();
    }
    report(state, m.elements, 4 * m.elements);
}

void combine_layers(benchmark::State& state) {
    auto const m = make_model();
    monitor watch{m.layers};
    watch.begin_step();
    watch.observe(m.views);
    watch.end_step();
    self_communicator self;
    for (auto _ : state) {
        benchmark::DoNotOptimize(watch.combine(self));
    }
}

BENCHMARK(read_floats)->Name("read/float")->RangeMultiplier(16)->Range(1 << 12, 1 << 24);
BENCHMARK(tally_floats)->Name("tally/float")->RangeMultiplier(16)->Range(1 << 12, 1 << 24);
BENCHMARK(tally_scaled_floats)->Name("tally/float, loss scale")->Arg(1 << 24);
BENCHMARK(tally_16_bits<bfloat16_bits>)->Name("tally/bfloat16")->Arg(1 << 24);
BENCHMARK(tally_16_bits<half_bits>)->Name("tally/half")->Arg(1 << 24);
BENCHMARK(loop_floats)->Name("loop/float")->Arg(1 << 24);
BENCHMARK(read_layers)->Name("layers/read");
BENCHMARK(tally_layers)->Name("layers/tally");
BENCHMARK(combine_layers)->Name("layers/combine")->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
