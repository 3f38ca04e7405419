// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How device benchmarks measure: the time between two events, the median of repeats after a warm-up; a call alone, calls
// back to back, and calls replayed from a graph; with inputs that the L2 holds, or does not.
#pragma once

#include "baselines.cuh"
#include "memory.cuh"
#include "report.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One contender. A call puts its work on the stream; `slice` says which of several inputs of the same size it reads.
struct subject {
    std::string name;
    std::function<void(std::size_t slice)> call;
};

/// What is the same for all subjects of one work and size.
struct task {
    std::string work;
    std::string element;
    std::uint64_t size;        ///< samples
    std::uint64_t elements;    ///< of the inputs of one slice
    std::uint64_t bytes;       ///< of one slice
    std::size_t slices;        ///< a batch reads so many different ones
    bool batched_only = false; ///< batched and cold, nothing else
};

/// Calls in a batch, and so slices of inputs: few where one takes long.
inline std::size_t calls_in_batch(std::uint64_t bytes, bool quick) {
    return quick ? 2 : bytes <= (1U << 20) ? 50 : bytes <= (64U << 20) ? 10 : 3;
}

class measurement {
public:
    measurement(report& out, cudaStream_t stream)
        : report_{out}, stream_{stream}, scratch_(out.quick() ? 1U << 16 : 3 * out.where().l2_bytes / sizeof(float)),
          sink_(1) {
        tally::cuda::check(cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), stream_), "cudaMemsetAsync");
        tally::cuda::check(cudaMemsetAsync(sink_.data(), 0, sink_.bytes(), stream_), "cudaMemsetAsync");
    }

    /// All modes of one subject. Modes that say nothing are left out: inputs that don't fit the L2 are never warm.
    void run(task const& what, subject const& who) {
        if (report_.counting()) {
            count(what, who);
            return;
        }
        for (bool const cold : {true, false}) {
            if (!cold && (what.batched_only || what.bytes > report_.where().l2_bytes / 2)) {
                continue;
            }
            auto const batch = [&](std::size_t = 0) {
                for (std::size_t k = 0; k < what.slices; ++k) {
                    who.call(cold ? k : 0);
                }
            };
            measure(what, who, "batched", cold, what.slices, batch);
            if (what.batched_only) {
                continue;
            }
            measure(what, who, "isolated", cold, 1, [&](std::size_t first) { who.call(cold ? first : 0); });
            graph const replayed(stream_, batch);
            measure(what, who, "graph", cold, what.slices, [&](std::size_t) { replayed.launch(stream_); });
        }
    }

private:
    /// Times `calls` calls that `body` makes. An isolated call begins on an idle device, so its time holds the launch;
    /// in the other modes the device is still busy when the first call arrives.
    template <class Body>
    void measure(task const& what, subject const& who, char const* mode, bool cold, std::size_t calls,
                 Body const& body) {
        using clock = std::chrono::steady_clock;
        bool const isolated = std::string(mode) == "isolated";
        int const least = report_.quick() ? 1 : 7;
        int const most = report_.quick() ? 1 : 50;
        double const enough_us = 1e5;
        body(0); // warm-up; for the warm rows it also brings the inputs into the L2
        wait();
        std::vector<double> device_us;
        std::vector<double> host_us;
        double spent = 0.0;
        for (int r = 0; r < least || (r < most && spent < enough_us); ++r) {
            // Reads other memory, and writes none, so that nothing has to leave the L2 while we measure.
            if (cold) {
                read_scratch(scratch_.size());
            }
            if (isolated) {
                wait();
            } else if (!cold) {
                for (int k = 0; k < 10; ++k) {
                    read_scratch(std::min<std::size_t>(scratch_.size(), 1U << 16));
                }
            }
            start_.record(stream_);
            auto const before = clock::now();
            body(static_cast<std::size_t>(r) % what.slices);
            auto const after = clock::now();
            stop_.record(stream_);
            wait();
            device_us.push_back(start_.us_until(stop_) / static_cast<double>(calls));
            host_us.push_back(std::chrono::duration<double, std::micro>(after - before).count() /
                              static_cast<double>(calls));
            spent += device_us.back() * static_cast<double>(calls);
        }
        report_.add({what.work, who.name, what.element, what.size, what.bytes, mode, cold ? "cold" : "warm",
                     median(device_us), *std::min_element(device_us.begin(), device_us.end()), median(host_us),
                     static_cast<int>(device_us.size())});
    }

    void count(task const& what, subject const& who) {
        who.call(0); // what happens once is not counted
        wait();
        counts::begin();
        who.call(0);
        wait();
        row r;
        r.work = what.work;
        r.subject = who.name;
        r.element = what.element;
        r.size = what.size;
        r.bytes = what.bytes;
        report_.add(r, counts::so_far(), what.elements);
    }

    /// Keeps the device busy; on all of the scratch memory, it also takes everything else out of the L2.
    void read_scratch(std::size_t size) {
        float_sum<float><<<blocks_for_sum(size), sum_threads, 0, stream_>>>(scratch_.data(), size, sink_.data());
        tally::cuda::check(cudaGetLastError(), "launch of float_sum", stream_);
    }
    void wait() const { tally::cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", stream_); }

    static double median(std::vector<double> values) {
        auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    }

    report& report_;
    cudaStream_t stream_;
    memory<float> scratch_;
    memory<float> sink_;
    timed_event start_;
    timed_event stop_;
};

} // namespace bench
