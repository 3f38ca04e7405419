// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradient monitors on the device are those on the host, bit for bit; the same steps, distributions, snapshots and
// refusals. One launch and one read a step.
#include "support/device_array.cuh"
#include "support/device_counters.hpp"

#include <doctest/doctest.h>

#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>
#include <tally/comm/thread.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/cuda/gradient_monitor.cuh>
#include <tally/monitor/gradient_monitor.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using tally::gradient_type;
using tally::gradient_view;
using tally::testing::counted;
using tally::testing::device_array;

/// few: of few exponents, with NaN and infinities; finite: without those; any: of all exponents, random bits among them.
enum class numbers { few, finite, any };

/// A gradient in host memory, in the element type of its layer, and a copy on the device at any alignment.
class gradient {
public:
    gradient() = default;
    gradient(gradient_type type, std::vector<float> const& x, std::size_t offset = 0) : type_{type}, size_{x.size()} {
        switch (type) {
        case gradient_type::float32: fill<float>(x, offset, floats_, device_floats_); break;
        case gradient_type::float16: fill<tally::half_bits>(x, offset, halves_, device_halves_); break;
        case gradient_type::bfloat16: fill<tally::bfloat16_bits>(x, offset, bfloats_, device_bfloats_); break;
        }
    }
    [[nodiscard]] gradient_view host() const { return view(floats_.data(), halves_.data(), bfloats_.data()); }
    [[nodiscard]] gradient_view device() const {
        return view(data_of(device_floats_), data_of(device_halves_), data_of(device_bfloats_));
    }
    [[nodiscard]] std::size_t bytes() const { return size_ * (type_ == gradient_type::float32 ? 4 : 2); }

private:
    template <class T>
    static void fill(std::vector<float> const& x, std::size_t offset, std::vector<T>& host,
                     std::unique_ptr<device_array<T>>& device) {
        for (auto const each : x) {
            if constexpr (std::same_as<T, float>) {
                host.push_back(each);
            } else {
                host.push_back(tally::narrow_to<T>(each));
            }
        }
        device = std::make_unique<device_array<T>>(host, offset);
    }
    template <class T>
    static T const* data_of(std::unique_ptr<device_array<T>> const& array) {
        return array ? array->data() : nullptr;
    }
    [[nodiscard]] gradient_view view(float const* f, tally::half_bits const* h, tally::bfloat16_bits const* b) const {
        switch (type_) {
        case gradient_type::float16: return {h, size_};
        case gradient_type::bfloat16: return {b, size_};
        default: return size_ == 0 ? gradient_view{} : gradient_view{f, size_};
        }
    }

    gradient_type type_ = gradient_type::float32;
    std::size_t size_ = 0;
    std::vector<float> floats_;
    std::vector<tally::half_bits> halves_;
    std::vector<tally::bfloat16_bits> bfloats_;
    std::unique_ptr<device_array<float>> device_floats_;
    std::unique_ptr<device_array<tally::half_bits>> device_halves_;
    std::unique_ptr<device_array<tally::bfloat16_bits>> device_bfloats_;
};

std::vector<float> numbers_of(std::size_t n, unsigned seed, numbers which) {
    std::mt19937 random{seed};
    std::vector<float> x(n);
    for (auto& each : x) {
        auto const kind = random() % 64;
        auto const significand = static_cast<float>(static_cast<int>(random() % 255) - 127);
        auto const exponent = which != numbers::any ? -8 : -30 + static_cast<int>(random() % 40);
        each = kind == 0   ? NAN
               : kind == 1 ? INFINITY
               : kind == 2 ? -INFINITY
               : kind < 8  ? 0.0F
               : kind == 8 ? -0.0F
               : kind == 9 ? 0x1p-24F // subnormal as a half
                           : std::ldexp(significand, exponent);
        if (which != numbers::any && kind == 9) {
            each = 0x1p-12F;
        }
        if (which == numbers::finite && kind < 3) {
            each = 1.0F;
        }
        if (which == numbers::any && random() % 4 == 0) {
            each = tally::detail::bit_cast<float>(static_cast<std::uint32_t>(random()));
        }
    }
    return x;
}

struct shape {
    std::size_t size;
    gradient_type type;
    std::size_t offset; ///< of the device copy
};
std::vector<shape> const shapes{{1, gradient_type::float32, 0},     {7, gradient_type::float16, 3},
                                {37, gradient_type::bfloat16, 1},   {5000, gradient_type::float32, 1},
                                {4096, gradient_type::float16, 0},  {20011, gradient_type::bfloat16, 5},
                                {30000, gradient_type::float32, 2}, {3, gradient_type::float32, 3}};

tally::layer_registry layers_of(std::vector<shape> const& all) {
    tally::layer_registry layers;
    for (std::size_t i = 0; i < all.size(); ++i) {
        layers.add("layer " + std::to_string(i), all[i].size, all[i].type);
    }
    return layers;
}

/// All gradients of a step.
struct step_data {
    std::vector<gradient> all;
    step_data(unsigned seed, numbers which, std::vector<shape> const& of = shapes) {
        for (std::size_t i = 0; i < of.size(); ++i) {
            all.emplace_back(of[i].type, numbers_of(of[i].size, 100 * seed + static_cast<unsigned>(i), which),
                             of[i].offset);
        }
    }
    [[nodiscard]] std::vector<gradient_view> host() const {
        std::vector<gradient_view> views;
        for (auto const& each : all) {
            views.push_back(each.host());
        }
        return views;
    }
    [[nodiscard]] std::vector<gradient_view> device() const {
        std::vector<gradient_view> views;
        for (auto const& each : all) {
            views.push_back(each.device());
        }
        return views;
    }
};

/// Of every view the part that replica `rank` of `size` holds.
std::vector<gradient_view> parts_of(std::vector<gradient_view> views, int rank, int size) {
    for (auto& view : views) {
        auto const r = static_cast<std::size_t>(rank);
        auto const n = static_cast<std::size_t>(size);
        auto const first = view.size * r / n;
        auto const width = view.type == gradient_type::float32 ? 4U : 2U;
        view.data = static_cast<std::byte const*>(view.data) + first * width;
        view.size = view.size * (r + 1) / n - first;
    }
    return views;
}

void use_device_of(tally::thread_communicator const& comm) {
    int count = 0;
    tally::cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    tally::cuda::check(cudaSetDevice(comm.rank() % count), "cudaSetDevice");
}

/// Bit for bit.
template <class Bins>
void check_same(tally::gradient_report<Bins> const& device, tally::gradient_report<Bins> const& host) {
    REQUIRE(device.size() == host.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
        auto const& d = device[i];
        auto const& h = host[i];
        CAPTURE(h.name);
        CHECK(d.histogram == h.histogram);
        CHECK(d.gradients == h.gradients);
        CHECK(d.largest.why() == h.largest.why());
        CHECK(d.largest.value_or(-7) == h.largest.value_or(-7));
        CHECK(d.zero_share.value_or(-7) == h.zero_share.value_or(-7));
        CHECK(d.mean.dropped() == h.mean.dropped());
        CHECK(d.mean.why() == h.mean.why());
        CHECK(d.mean.value_or(-7) == h.mean.value_or(-7));
        CHECK(d.mean_magnitude.value_or(-7) == h.mean_magnitude.value_or(-7));
        CHECK(d.root_mean_square.value_or(-7) == h.root_mean_square.value_or(-7));
        CHECK(d.norm.value_or(-7) == h.norm.value_or(-7));
        CHECK(d.sum_of_squares == h.sum_of_squares);
    }
    auto const& d = device.steps();
    auto const& h = host.steps();
    CHECK(d.steps == h.steps);
    CHECK(d.observed == h.observed);
    CHECK(d.clipped == h.clipped);
    CHECK(d.skipped == h.skipped);
    CHECK(d.smallest_loss_scale.value_or(-7) == h.smallest_loss_scale.value_or(-7));
    CHECK(d.largest_loss_scale.value_or(-7) == h.largest_loss_scale.value_or(-7));
}

template <class D>
void check_distribution(numbers which) {
    for (int const replica_count : {1, 2, 3}) {
        CAPTURE(replica_count);
        tally::replicas{replica_count}.run([&](tally::thread_communicator& comm) {
            use_device_of(comm);
            tally::cuda::gradient_monitor<D> device{layers_of(shapes), tally::sampling{2}};
            tally::host::gradient_monitor<D> host{layers_of(shapes), tally::sampling{2}};
            std::vector<step_data> kept; // inputs stay valid until the stream has passed them
            for (unsigned step = 0; step < 5; ++step) {
                auto const seed =
                    std::same_as<D, tally::partitioned> ? step * 10 + static_cast<unsigned>(comm.rank()) : step;
                auto const& data = kept.emplace_back(seed, which);
                tally::step_options const options{step == 0 ? 1.0F : 4.0F, step == 3};
                CHECK(device.begin_step(options) == host.begin_step(options));
                if constexpr (std::same_as<D, tally::sharded>) {
                    device.observe(parts_of(data.device(), comm.rank(), comm.size()));
                    host.observe(parts_of(data.host(), comm.rank(), comm.size()));
                } else {
                    device.observe(data.device());
                    host.observe(data.host());
                }
                device.end_step({step == 2});
                host.end_step({step == 2});
                check_same(device.combine_last_step(comm), host.combine_last_step(comm));
            }
            auto const report = device.combine(comm);
            check_same(report, host.combine(comm));
            CHECK(report.replicas() == replica_count);
            check_same(device.local(), host.local());
            check_same(device.end_epoch(comm), host.end_epoch(comm));
            check_same(device.combine(comm), host.combine(comm)); // nothing
            check_same(device.combine_last_step(comm), host.combine_last_step(comm));
        });
    }
}

} // namespace

TEST_CASE("device gradient_monitor: partitioned gradients, as on the host") {
    check_distribution<tally::partitioned>(numbers::few);
    check_distribution<tally::partitioned>(numbers::any);
}
TEST_CASE("device gradient_monitor: replicated gradients, as on the host") {
    check_distribution<tally::replicated>(numbers::few);
    check_distribution<tally::replicated>(numbers::any);
}
TEST_CASE("device gradient_monitor: sharded gradients, as on the host") {
    check_distribution<tally::sharded>(numbers::few);
    check_distribution<tally::sharded>(numbers::any);
}

TEST_CASE("device gradient_monitor: replicas that should hold the same gradient and do not are reported") {
    tally::replicas{2}.run([](tally::thread_communicator& comm) {
        use_device_of(comm);
        gradient const g(gradient_type::float32, {1.0F, comm.rank() == 0 ? 2.0F : 3.0F});
        tally::layer_registry layers;
        layers.add("a", 2);
        tally::cuda::gradient_monitor<tally::replicated> monitor{layers};
        monitor.begin_step();
        monitor.observe({g.device()});
        monitor.end_step();
        CHECK(monitor.combine(comm)["a"].mean.why() == tally::reason::replicas_differ);

        // A snapshot remembers it, and so does a monitor that goes on from it.
        tally::cuda::gradient_monitor<tally::replicated> next{layers};
        next.restore(comm, monitor.snapshot(comm));
        CHECK(next.combine(comm)["a"].mean.why() == tally::reason::replicas_differ);
        CHECK(next.combine(comm)["a"].histogram == monitor.combine(comm)["a"].histogram);
        next.begin_epoch();
        CHECK(next.combine(comm)["a"].mean.why() == tally::reason::no_samples);
    });
}

// ---- steps --------------------------------------------------------------------------------------------------------

TEST_CASE("device gradient_monitor: every way through a step leaves what it leaves on the host") {
    tally::self_communicator self;
    tally::cuda::gradient_monitor<tally::partitioned> device{layers_of(shapes)};
    tally::host::gradient_monitor<tally::partitioned> host{layers_of(shapes)};
    std::vector<step_data> kept;
    std::mt19937 random{5};
    auto const compare = [&] {
        check_same(device.combine(self), host.combine(self));
        check_same(device.combine_last_step(self), host.combine_last_step(self));
    };
    for (int i = 0; i < 24; ++i) {
        CAPTURE(i);
        auto const& data = kept.emplace_back(static_cast<unsigned>(i), numbers::few);
        auto const name = "layer " + std::to_string(random() % shapes.size());
        device.enable(name, i % 3 != 0);
        host.enable(name, i % 3 != 0);
        device.begin_step();
        host.begin_step();
        if (random() % 6 != 0) { // a step without gradients is a step too
            auto on_device = data.device();
            auto on_host = data.host();
            auto const missing = random() % shapes.size();
            on_device[missing] = on_host[missing] = gradient_view{};
            device.observe(on_device);
            host.observe(on_host);
            auto const again = random() % shapes.size(); // a micro-batch of one layer
            device.observe(again, data.all[again].device());
            host.observe(again, data.all[again].host());
        }
        if (random() % 3 == 0) {
            check_same(device.local(), host.local()); // the open step is not in the epoch
        }
        if (random() % 4 == 0) {
            device.skip_step();
            host.skip_step();
        } else {
            device.end_step();
            host.end_step();
        }
        if (random() % 2 == 0) {
            compare();
        }
        if (random() % 8 == 0) {
            device.begin_epoch();
            host.begin_epoch();
        }
    }
    compare();
    device.begin_step();
    device.observe(kept[0].device());
    device.begin_epoch(); // forgets an open step
    host.begin_epoch();
    compare();
}

TEST_CASE("device gradient_monitor: updates and weights, layer by layer or all at once") {
    tally::self_communicator self;
    for (auto const which : {numbers::finite, numbers::few}) { // few: with NaN, which must show in both
        tally::cuda::gradient_monitor<tally::partitioned> device{layers_of(shapes)};
        tally::cuda::gradient_monitor<tally::partitioned> at_once{layers_of(shapes)};
        tally::host::gradient_monitor<tally::partitioned> host{layers_of(shapes)};
        step_data const updates{1, which};
        step_data const weights{2, which};
        device.begin_step();
        at_once.begin_step();
        host.begin_step();
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            device.observe_update(i, updates.all[i].device(), weights.all[i].device());
            host.observe_update(i, updates.all[i].host(), weights.all[i].host());
        }
        at_once.observe_updates(updates.device(), weights.device());
        device.end_step();
        at_once.end_step();
        host.end_step();
        auto const expected = host.combine(self);
        for (auto const& report : {device.combine(self), at_once.combine(self)}) {
            for (std::size_t i = 0; i < shapes.size(); ++i) {
                CAPTURE(i);
                auto const a = report[i].update_to_weight;
                auto const b = expected[i].update_to_weight;
                CHECK(a.why() == b.why());
                CHECK(std::isnan(a.value_or(-7)) == std::isnan(b.value_or(-7)));
                CHECK((std::isnan(a.value_or(-7)) || a.value_or(-7) == b.value_or(-7)));
                CHECK((which == numbers::few || i == 0 || a.value_or(NAN) > 0.0)); // layer 0 is one zero
                CHECK(report[i].mean.why() == tally::reason::no_samples);
            }
        }
    }

    tally::layer_registry one;
    one.add("a", 2);
    tally::cuda::gradient_monitor<tally::partitioned> small{one};
    gradient const update(gradient_type::float16, {3.0F / 1024, 4.0F / 1024});
    gradient const weight(gradient_type::float32, {3.0F, 4.0F});
    small.begin_step();
    small.observe_update(0, update.device(), weight.device());
    small.end_step();
    CHECK(small.local()[0].update_to_weight.value() == 1.0 / 1024);
}

TEST_CASE("device gradient_monitor: gradients averaged over replicas, as on the host") {
    for (int const replica_count : {1, 2, 3}) {
        CAPTURE(replica_count);
        tally::replicas{replica_count}.run([](tally::thread_communicator& comm) {
            use_device_of(comm);
            tally::cuda::gradient_monitor<tally::replicated> device{layers_of(shapes), tally::sampling{2}};
            tally::host::gradient_monitor<tally::replicated> host{layers_of(shapes), tally::sampling{2}};
            CHECK_THROWS_AS((void)device.averaged(0), tally::configuration_error);
            std::vector<step_data> kept;
            for (unsigned step = 0; step < 4; ++step) {
                auto const& data = kept.emplace_back(step * 10 + static_cast<unsigned>(comm.rank()), numbers::few);
                auto on_device = data.device();
                auto on_host = data.host();
                if (comm.rank() == 0) {
                    on_device[3] = on_host[3] = gradient_view{};
                }
                device.begin_step({8.0F});
                host.begin_step({8.0F});
                device.observe_averaged(comm, on_device);
                host.observe_averaged(comm, on_host);
                device.end_step();
                host.end_step();
            }
            check_same(device.combine(comm), host.combine(comm));
            auto const expected = host.averaged(5);
            auto const average = device.averaged(5);
            std::vector<float> copy(average.size());
            tally::cuda::check(cudaMemcpy(copy.data(), average.data(), average.size_bytes(), cudaMemcpyDeviceToHost),
                               "cudaMemcpy");
            bool same = copy.size() == expected.size();
            for (std::size_t i = 0; same && i < copy.size(); ++i) {
                same = copy[i] == expected[i] || (std::isnan(copy[i]) && std::isnan(expected[i]));
            }
            CHECK(same);
        });
    }
}

TEST_CASE("device gradient_monitor: a snapshot goes on on either engine, at any number of replicas") {
    step_data const first{1, numbers::few};
    step_data const second{2, numbers::few};
    auto const run = [](auto& monitor, std::vector<gradient_view> const& views) {
        monitor.begin_step();
        monitor.observe(views);
        monitor.end_step();
    };
    auto const saved = tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        tally::cuda::gradient_monitor<tally::partitioned> device{layers_of(shapes)};
        run(device, first.device());
        return device.snapshot(comm);
    });
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        tally::cuda::gradient_monitor<tally::partitioned> device{layers_of(shapes)};
        tally::host::gradient_monitor<tally::partitioned> host{layers_of(shapes)};
        run(device, second.device()); // to be replaced
        device.restore(comm, saved[0]);
        host.restore(comm, saved[0]);
        run(device, second.device());
        run(host, second.host());
        auto const report = device.combine(comm);
        check_same(report, host.combine(comm));
        CHECK(report.steps().steps == 2);
        auto damaged = saved[0];
        damaged[100] ^= std::byte{1};
        CHECK_THROWS_AS(device.restore(comm, damaged), tally::snapshot_error);
        check_same(device.combine(comm), report);
    });
}

// ---- kernels ------------------------------------------------------------------------------------------------------

namespace {

/// Flushes the 32-bit counts after every second tile, and has few blocks, so that each sees many layers.
struct flushing {
    TALLY_HD static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.samples_before_flush = 4097;
        chosen.blocks_per_multiprocessor = 1;
        chosen.threads = 64;
        chosen.bytes_in_flight = 16;
        return chosen;
    }
};

template <class Bins, class Tuning>
void check_bins(std::vector<shape> const& of) {
    tally::cuda::gradient_monitor<tally::partitioned, Bins, Tuning> device{layers_of(of)};
    tally::host::gradient_monitor<tally::partitioned, Bins> host{layers_of(of)};
    step_data const data{3, numbers::few, of};
    device.begin_step();
    host.begin_step();
    device.observe(data.device());
    host.observe(data.host());
    device.end_step();
    host.end_step();
    check_same(device.local(), host.local());
}

} // namespace

TEST_CASE("device gradient_monitor: coarse bins, fine ones, and those too fine for shared memory") {
    check_bins<tally::logarithmic_bins<0>, tally::cuda::default_tuning>(shapes);
    check_bins<tally::logarithmic_bins<5, -48, 16>, tally::cuda::default_tuning>(shapes);
    check_bins<tally::logarithmic_bins<7>, tally::cuda::default_tuning>(
        {{5, gradient_type::float32, 0}, {3000, gradient_type::float16, 1}});
}

TEST_CASE("device gradient_monitor: 32-bit counts are flushed, blocks cross layers") {
    auto of = shapes;
    of.push_back({1200000, gradient_type::bfloat16, 0});
    check_bins<tally::gradient_bins, flushing>(of);
}

TEST_CASE("device gradient_monitor: more layers than fit one launch") {
    std::vector<shape> of;
    for (std::size_t i = 0; i < 1003; ++i) {
        of.push_back({i % 5 + 1, static_cast<gradient_type>(i % 3), i % 2});
    }
    check_bins<tally::logarithmic_bins<0, -8, 8>, tally::cuda::default_tuning>(of);
}

TEST_CASE("device gradient_monitor: gradients that come on another stream") {
    cudaStream_t other = nullptr;
    tally::cuda::check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cudaStream_t own = nullptr;
    tally::cuda::check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    {
        tally::cuda::gradient_monitor<tally::partitioned> device{own, layers_of(shapes)};
        tally::host::gradient_monitor<tally::partitioned> host{layers_of(shapes)};
        step_data const data{4, numbers::few};
        for (int step = 0; step < 3; ++step) {
            device.begin_step();
            host.begin_step();
            device.observe(other, data.device());
            host.observe(data.host());
            device.end_step();
            host.end_step();
        }
        check_same(device.local(), host.local());
        tally::cuda::check(cudaStreamSynchronize(other), "cudaStreamSynchronize");
    }
    tally::cuda::check(cudaStreamDestroy(own), "cudaStreamDestroy");
    tally::cuda::check(cudaStreamDestroy(other), "cudaStreamDestroy");
}

TEST_CASE("device gradient_monitor: 200 layers of mixed sizes and types are one launch and one read") {
    TALLY_NEEDS_COUNTERS();
    std::vector<shape> of;
    std::size_t const sizes[] = {9, 64, 1000, 4096, 40003};
    for (std::size_t i = 0; i < 200; ++i) {
        of.push_back({sizes[i % 5], static_cast<gradient_type>(i % 3), i % 4});
    }
    tally::cuda::gradient_monitor<tally::partitioned> monitor{layers_of(of)};
    step_data const data{6, numbers::few, of};
    auto const views = data.device();
    std::size_t bytes = 0;
    for (auto const& each : data.all) {
        bytes += each.bytes();
    }
    auto const step = [&] {
        monitor.begin_step();
        monitor.observe(views);
        monitor.end_step();
    };
    step(); // what happens once
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    tally::testing::count_from_here();
    step();
    CHECK(tally::testing::calls_that_wait_or_allocate() == 0);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CHECK(counted("tensor_kernel", "launches") == 1);
    CHECK(counted("", "launches") == 2); // and the step before, into the epoch
    CHECK(counted("", "local_accesses") == 0);
    auto const loaded = counted("tensor_kernel", "global_load_bytes");
    CHECK(loaded >= bytes);
    CHECK(static_cast<double>(loaded) <= 1.02 * static_cast<double>(bytes));
    CHECK(16.0 * static_cast<double>(tally::testing::loads_of_width("tensor_kernel", 16)) >=
          0.95 * static_cast<double>(bytes));

    tally::testing::count_from_here();
    monitor.begin_step();
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    tally::testing::count_from_here();
    monitor.observe_updates(views, views);
    CHECK(tally::testing::calls_that_wait_or_allocate() == 0);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CHECK(counted("", "launches") == 1);
    CHECK(static_cast<double>(counted("tensor_kernel", "global_load_bytes")) <=
          1.02 * 2.0 * static_cast<double>(bytes));
    monitor.skip_step();
}

TEST_CASE("device gradient_monitor: memory a layer") {
    auto const bytes_of = [](std::size_t n) {
        std::vector<shape> const of(n, shape{10, gradient_type::float32, 0});
        return tally::cuda::gradient_monitor<tally::partitioned>{layers_of(of)}.device_bytes();
    };
    // Two states of 88 words of sums and 520 counts.
    CHECK(bytes_of(1032) - bytes_of(8) == 1024 * 2 * (88 * 8 + 520 * 8));
}

// ---- faults -------------------------------------------------------------------------------------------------------

TEST_CASE("device gradient_monitor: what is wrong is refused before anything is taken") {
    tally::cuda::gradient_monitor<tally::partitioned> monitor{layers_of(shapes)};
    step_data const data{7, numbers::few};
    auto const views = data.device();
    CHECK_THROWS_AS(monitor.observe(views), tally::configuration_error); // no step is open
    CHECK_THROWS_AS(monitor.end_step(), tally::configuration_error);
    CHECK_THROWS_AS(monitor.begin_step({-1.0F}), tally::configuration_error);
    monitor.begin_step();
    CHECK_THROWS_AS(monitor.begin_step(), tally::configuration_error);
    auto wrong = views;
    wrong[3].size += 1;
    CHECK_THROWS_WITH_AS(monitor.observe(wrong), "layer \"layer 3\" was registered with 5000 elements and given 5001",
                         tally::shape_error);
    wrong = views;
    wrong[4].type = gradient_type::bfloat16;
    CHECK_THROWS_AS(monitor.observe(wrong), tally::shape_error);
    wrong = views;
    wrong[6].data = static_cast<std::byte const*>(wrong[6].data) + 2; // no multiple of four bytes
    CHECK_THROWS_AS(monitor.observe(wrong), tally::shape_error);
    wrong.pop_back();
    CHECK_THROWS_AS(monitor.observe(wrong), tally::shape_error);
    CHECK_THROWS_AS(monitor.observe(shapes.size(), views[0]), tally::shape_error);
    CHECK_THROWS_AS(monitor.observe_update(0, views[0], views[1]), tally::shape_error);
    CHECK_THROWS_AS(tally::cuda::gradient_monitor<tally::partitioned>{tally::layer_registry{}},
                    tally::configuration_error);
    monitor.end_step();
    CHECK(monitor.local()[3].mean.why() == tally::reason::no_samples);
}

TEST_CASE("device gradient_monitor: gradients in host memory are refused with a sentence") {
    if (tally::cuda::device_traits::of(0).reads_pageable_memory) {
        MESSAGE("skipped: this device reads host memory");
        return;
    }
    tally::cuda::gradient_monitor<tally::partitioned> monitor{layers_of(shapes)};
    step_data const data{8, numbers::few};
    monitor.begin_step();
    std::string said;
    try {
        monitor.observe(data.host());
    } catch (tally::shape_error const& refused) {
        said = refused.what();
    }
    CHECK(said.find("host memory") != std::string::npos);
    monitor.observe(data.device());
    monitor.end_step();
    CHECK(monitor.local()[3].gradients == 1.0);
}

TEST_CASE("fault: gradient monitor: a failed launch takes nothing, and the monitor goes on" * doctest::skip()) {
    tally::cuda::gradient_monitor<tally::partitioned> monitor{layers_of(shapes)}; // launches 1 and 2: reset
    step_data const data{9, numbers::few};
    monitor.begin_step();
    monitor.observe(data.device()); // launch 3
    monitor.end_step();
    std::optional<cudaError_t> failed;
    try {
        monitor.begin_step(); // launch 4 fails: no step is open
    } catch (tally::cuda::error const& error) {
        failed = error.code();
    }
    CHECK(failed == cudaErrorLaunchOutOfResources);
    CHECK_THROWS_AS(monitor.end_step(), tally::configuration_error);
    CHECK(monitor.local()[3].gradients == 1.0);
    monitor.begin_step();
    monitor.observe(data.device());
    monitor.end_step();
    CHECK(monitor.local()[3].gradients == 2.0);
    CHECK(monitor.local().steps().steps == 2);
}

TEST_CASE("fault: gradient monitor: a failed observe takes nothing, and the step can go on" * doctest::skip()) {
    tally::cuda::gradient_monitor<tally::partitioned> monitor{layers_of(shapes)}; // launches 1 and 2: reset
    step_data const data{9, numbers::few};
    monitor.begin_step();
    CHECK_THROWS_AS(monitor.observe(data.device()), tally::cuda::error); // launch 3
    monitor.observe(data.device());
    monitor.end_step();
    CHECK(monitor.local()[3].gradients == 1.0);
}
