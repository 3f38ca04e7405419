// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a device benchmark says: a line for each measurement on standard output and, with --json FILE, all of them in one
// JSON object together with the card, the versions, the date and the command.
#pragma once

#include <tally/cuda/error.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include(<vgpu.h>)
#include <vgpu.h>
#endif

namespace bench {

/// The command line that all device benchmarks take.
struct options {
    bool quick = false;  ///< tiny sizes and few repeats: shows that everything runs, its times mean nothing
    bool count = false;  ///< counts instead of times; on vgpu only
    std::string json;    ///< file to write, or none
    std::string filter;  ///< only works whose name holds this
    std::string command; ///< as typed
};

/// Ends the program on --help and on arguments it does not know.
inline options parse(int argc, char** argv, char const* question) {
    options chosen;
    for (int i = 0; i < argc; ++i) {
        chosen.command += (i == 0 ? "" : " ") + std::string(argv[i]);
    }
    for (int i = 1; i < argc; ++i) {
        std::string_view const argument = argv[i];
        bool const has_value = i + 1 < argc;
        if (argument == "--quick") {
            chosen.quick = true;
        } else if (argument == "--count") {
            chosen.count = true;
        } else if (argument == "--json" && has_value) {
            chosen.json = argv[++i];
        } else if (argument == "--filter" && has_value) {
            chosen.filter = argv[++i];
        } else {
            bool const help = argument == "--help";
            std::fprintf(help ? stdout : stderr,
                         "%s\n  --quick          tiny sizes, to see that everything runs\n"
                         "  --count          on vgpu: launches, instructions and bytes of one call, small sizes\n"
                         "  --filter TEXT    only works whose name holds TEXT\n"
                         "  --json FILE      write the measurements there as well\n",
                         question);
            std::exit(help ? 0 : 2);
        }
    }
    return chosen;
}

/// One measurement: microseconds of one call.
struct row {
    std::string work;    ///< what is computed: "values, 10 metrics"
    std::string subject; ///< who computes it: "tally", or a baseline
    std::string element; ///< element type of the inputs
    std::uint64_t size = 0;
    std::uint64_t bytes = 0; ///< of the inputs, read once
    std::string mode;        ///< isolated, batched, graph
    std::string l2;          ///< cold, warm
    double us = 0.0;         ///< median
    double least_us = 0.0;
    double host_us = 0.0; ///< time of the host in a call, without waiting for the device
    int repeats = 0;
};

/// What vgpu counted in one call.
struct counts {
    unsigned long long launches = 0;
    unsigned long long instructions = 0; ///< PTX instructions, added up over the threads
    unsigned long long loaded_bytes = 0; ///< from global memory
    unsigned long long atomics = 0;      ///< on global memory

    static void begin() {
#if __has_include(<vgpu.h>)
        vgpu_stats_reset();
#endif
    }
    static counts so_far() {
        counts c;
#if __has_include(<vgpu.h>)
        (void)vgpu_stats_get("", "launches", &c.launches);
        (void)vgpu_stats_get("", "thread_instructions", &c.instructions);
        (void)vgpu_stats_get("", "global_load_bytes", &c.loaded_bytes);
        (void)vgpu_stats_get("", "global_atomics", &c.atomics);
#endif
        return c;
    }
};

/// Where it was measured.
struct machine {
    std::string card;
    int compute_capability = 0;
    int multiprocessors = 0;
    std::uint64_t l2_bytes = 0;
    std::uint64_t memory_bytes = 0;
    std::string driver;
    std::string toolkit;
    std::string host_compiler;
    std::string date;
    bool real = true; ///< false on vgpu, whose times are those of an interpreter; without vgpu.h, judged by the name

    static machine here() {
        cudaDeviceProp properties{};
        tally::cuda::check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
        machine m;
        m.card = properties.name;
        m.compute_capability = 10 * properties.major + properties.minor;
        m.multiprocessors = properties.multiProcessorCount;
        m.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
        m.memory_bytes = properties.totalGlobalMem;
        int version = 0;
        tally::cuda::check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
        m.driver = "CUDA " + release(version) + driver_build();
        m.toolkit = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
                    std::to_string(__CUDACC_VER_BUILD__);
        tally::cuda::check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
        m.toolkit += ", run-time " + release(version);
        m.host_compiler = __VERSION__;
        std::time_t const now = std::time(nullptr);
        char text[32];
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
        m.date = text;
#if __has_include(<vgpu.h>)
        m.real = vgpu_present == nullptr || vgpu_present() == 0;
#else
        m.real = m.card.find("Virtual") == std::string::npos;
#endif
        return m;
    }

private:
    static std::string release(int version) {
        return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    }
    /// The driver's own version is not in the run-time's interface.
    static std::string driver_build() {
        std::ifstream file("/proc/driver/nvidia/version");
        std::string line;
        return std::getline(file, line) ? " (" + line + ")" : "";
    }
};

class report {
public:
    report(options chosen, std::string program)
        : options_{std::move(chosen)}, program_{std::move(program)}, machine_{machine::here()} {
        std::printf("%s on %s (compute capability %d, %d multiprocessors, %.0f MB of L2), %s, %s, %s\n%s\n",
                    program_.c_str(), machine_.card.c_str(), machine_.compute_capability, machine_.multiprocessors,
                    static_cast<double>(machine_.l2_bytes) / 1e6, machine_.driver.c_str(), machine_.toolkit.c_str(),
                    machine_.date.c_str(), options_.command.c_str());
        if (options_.count) {
            if (machine_.real) {
                throw std::runtime_error("only vgpu counts, and this program must be compiled with its header vgpu.h");
            }
            std::printf("\n%-30s %-28s %-5s %9s %9s %16s %18s %15s\n", "work", "subject", "type", "size", "launches",
                        "instr. / element", "bytes / input byte", "atomics / 1000");
            return;
        }
        if (!machine_.real) {
            std::printf("This is vgpu, an interpreter: the times below say nothing about a GPU.\n");
        }
        std::printf("\n%-30s %-28s %-5s %12s %-9s %-5s %11s %11s %9s\n", "work", "subject", "type", "size", "mode",
                    "L2", "us", "host us", "GB/s");
    }

    [[nodiscard]] machine const& where() const { return machine_; }
    [[nodiscard]] bool quick() const { return options_.quick || options_.count; }
    [[nodiscard]] bool counting() const { return options_.count; }
    [[nodiscard]] bool wants(std::string const& work) const { return work.find(options_.filter) != std::string::npos; }

    void add(row const& r) {
        std::printf("%-30s %-28s %-5s %12llu %-9s %-5s %11.2f %11.2f %9.1f\n", r.work.c_str(), r.subject.c_str(),
                    r.element.c_str(), static_cast<unsigned long long>(r.size), r.mode.c_str(), r.l2.c_str(), r.us,
                    r.host_us, static_cast<double>(r.bytes) / (1e3 * r.us));
        std::fflush(stdout);
        rows_.push_back(r);
    }

    /// `elements` are those of the inputs.
    void add(row const& r, counts const& c, std::uint64_t elements) {
        auto const n = static_cast<double>(elements);
        std::printf("%-30s %-28s %-5s %9llu %9llu %16.1f %18.3f %15.2f\n", r.work.c_str(), r.subject.c_str(),
                    r.element.c_str(), static_cast<unsigned long long>(r.size), c.launches,
                    static_cast<double>(c.instructions) / n,
                    static_cast<double>(c.loaded_bytes) / static_cast<double>(r.bytes),
                    1e3 * static_cast<double>(c.atomics) / n);
        std::fflush(stdout);
    }

    /// Writes the file, if one is wanted.
    void finish() const {
        if (options_.json.empty()) {
            return;
        }
        std::ofstream file(options_.json);
        write(file);
        if (!file.flush()) {
            throw std::runtime_error("can't write " + options_.json);
        }
    }

private:
    static std::string quoted(std::string const& text) {
        std::ostringstream out;
        out << '"';
        for (char const c : text) {
            if (c == '"' || c == '\\') {
                out << '\\' << c;
            } else {
                out << (static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
            }
        }
        out << '"';
        return out.str();
    }

    void write(std::ostream& out) const {
        out.precision(6);
        out << "{\n  \"program\": " << quoted(program_) << ",\n  \"command\": " << quoted(options_.command)
            << ",\n  \"date\": " << quoted(machine_.date) << ",\n  \"card\": " << quoted(machine_.card)
            << ",\n  \"real_device\": " << (machine_.real ? "true" : "false")
            << ",\n  \"quick\": " << (options_.quick ? "true" : "false")
            << ",\n  \"compute_capability\": " << machine_.compute_capability
            << ",\n  \"multiprocessors\": " << machine_.multiprocessors << ",\n  \"l2_bytes\": " << machine_.l2_bytes
            << ",\n  \"memory_bytes\": " << machine_.memory_bytes << ",\n  \"driver\": " << quoted(machine_.driver)
            << ",\n  \"toolkit\": " << quoted(machine_.toolkit)
            << ",\n  \"host_compiler\": " << quoted(machine_.host_compiler) << ",\n  \"rows\": [";
        char const* separator = "\n";
        for (auto const& r : rows_) {
            out << separator << "    {\"work\": " << quoted(r.work) << ", \"subject\": " << quoted(r.subject)
                << ", \"element\": " << quoted(r.element) << ", \"size\": " << r.size << ", \"bytes\": " << r.bytes
                << ", \"mode\": " << quoted(r.mode) << ", \"l2\": " << quoted(r.l2) << ", \"us\": " << r.us
                << ", \"least_us\": " << r.least_us << ", \"host_us\": " << r.host_us << ", \"repeats\": " << r.repeats
                << "}";
            separator = ",\n";
        }
        out << "\n  ]\n}\n";
    }

    options options_;
    std::string program_;
    machine machine_;
    std::vector<row> rows_;
};

} // namespace bench
