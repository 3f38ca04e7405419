// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does logging an epoch cost? 200 layers, each with a histogram of 512 rows and four numbers.
//
//   floor/...          one write of as many bytes as the event file takes
//   tensorboard/...    building the report, encoding it, writing it; with and without waiting for the disk
//   json_lines/...     the same report in the exact log
//
// Files are made in the current folder. bytes_per_second is of what reaches the file.
#include <benchmark/benchmark.h>

#include <tally/sink/json_lines.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/tensorboard.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int layers = 200;
constexpr int rows = 512;
constexpr char const* folder = "bench_sinks_output";

std::vector<tally::histogram_row> histogram_of(int layer) {
    std::vector<tally::histogram_row> found;
    for (int i = 0; i < rows; ++i) {
        double const left = std::ldexp(1.0 + (i % 4) / 4.0, i / 4 - 100);
        double const right = std::ldexp(1.0 + (i + 1) % 4 / 4.0, (i + 1) / 4 - 100);
        found.push_back({left, right, static_cast<double>(1 + (i * 7919 + layer) % 100'003)});
    }
    return found;
}

struct layer {
    std::string name;
    std::vector<tally::histogram_row> rows;
};

std::vector<layer> all_layers() {
    std::vector<layer> found;
    for (int i = 0; i < layers; ++i) {
        found.push_back({"gradients/encoder.layer." + std::to_string(i) + ".weight", histogram_of(i)});
    }
    return found;
}

tally::report report_of(std::int64_t epoch, std::vector<layer> const& all) {
    tally::report page{epoch};
    for (auto const& each : all) {
        page.add(each.name, each.rows).add(each.name + "/mean", 1e-3).add(each.name + "/norm", 0.1);
        page.add(each.name + "/largest", 0.5).add(each.name + "/zeros", std::int64_t{17});
    }
    return page;
}

template <class Sink>
void write_epochs(benchmark::State& state, Sink& log, std::string const& path) {
    auto const all = all_layers();
    auto const begin = fs::file_size(path);
    std::int64_t epoch = 0;
    for (auto _ : state) {
        log.write(report_of(epoch++, all));
    }
    auto const written = fs::file_size(path) - begin;
    state.SetBytesProcessed(static_cast<std::int64_t>(written));
    state.counters["MB/epoch"] = static_cast<double>(written) / 1e6 / static_cast<double>(epoch);
    fs::remove_all(folder);
}

void tensorboard(benchmark::State& state, bool sync) {
    fs::remove_all(folder);
    tally::tensorboard::writer log{folder, {.sync = sync}};
    write_epochs(state, log, log.path());
}

void json_lines(benchmark::State& state) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    auto const path = std::string{folder} + "/log.jsonl";
    tally::json_lines log{path};
    write_epochs(state, log, path);
}

void one_write(benchmark::State& state) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    std::string const bytes(static_cast<std::size_t>(layers) * rows * 24, 'x');
    std::FILE* const file = std::fopen((std::string{folder} + "/bytes").c_str(), "wb");
    if (file == nullptr) {
        state.SkipWithError("cannot write in the current folder");
        return;
    }
    std::setvbuf(file, nullptr, _IONBF, 0);
    for (auto _ : state) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
            state.SkipWithError("the disk is full");
            break;
        }
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
    state.counters["MB/epoch"] = static_cast<double>(bytes.size()) / 1e6; // in all rows, or CSV output is refused
    std::fclose(file);
    fs::remove_all(folder);
}

// Few epochs, since the files grow by 2.5 MB in each.
BENCHMARK(one_write)->Name("floor/200x512")->Unit(benchmark::kMillisecond)->Iterations(40)->UseRealTime();
BENCHMARK_CAPTURE(tensorboard, "", false)
    ->Name("tensorboard/200x512")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(40)
    ->UseRealTime();
BENCHMARK_CAPTURE(tensorboard, "", true)
    ->Name("tensorboard/200x512/sync")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(40)
    ->UseRealTime();
BENCHMARK(json_lines)->Name("json_lines/200x512")->Unit(benchmark::kMillisecond)->Iterations(40)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
