// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// nccl_communicator and its view for host memory obey the laws of communicators for every number of devices; how they
// are made, split and given back.
#include "nccl/support.hpp"

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/hierarchical.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/nccl.hpp>
#include <tally/op/ops.hpp>
#include <tally/ranking/ranked_labels.hpp>
#include <tally/ranking/ranking_buffer.hpp>

#include <doctest/doctest.h>
#include <nccl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

/// Runners for check_communicator_laws: over device memory, and over host memory by the staged view.
struct device_runner {
    static constexpr bool sees_mismatch = false; // NCCL itself does not compare calls
    int replicas;

    [[nodiscard]] int size() const { return replicas; }
    template <class Function>
    void run(Function function) const {
        auto group = make_group(replicas);
        on_group(group, [&](tally::nccl_communicator& comm) { function(comm); });
    }
};

struct staged_runner {
    static constexpr bool sees_mismatch = false;
    int replicas;

    [[nodiscard]] int size() const { return replicas; }
    template <class Function>
    void run(Function function) const {
        auto group = make_group(replicas);
        on_group(group, [&](tally::nccl_communicator& comm) { function(comm.staged()); });
    }
};

/// Two groups of two devices each, joined by communicators of another kind between their leaders.
struct two_groups_runner {
    static constexpr bool sees_mismatch = true; // it compares calls itself

    [[nodiscard]] int size() const { return 4; }
    template <class Function>
    void run(Function function) const {
        std::vector<std::vector<tally::nccl_communicator>> groups;
        groups.push_back(tally::nccl_communicators(std::vector<int>{0, 1}, 60s));
        groups.push_back(tally::nccl_communicators(std::vector<int>{2, 3}, 60s));
        tally::thread_group const leaders{2, 60s};
        on_devices(4, [&](int rank) {
            auto& inner = groups[static_cast<std::size_t>(rank / 2)][static_cast<std::size_t>(rank % 2)];
            std::optional<tally::thread_communicator> outer;
            if (inner.rank() == 0) {
                outer.emplace(leaders.communicator(rank / 2));
            }
            tally::hierarchical_communicator comm{inner.staged(), outer ? &*outer : nullptr};
            function(comm);
        });
    }
};

/// A sum over the group on device memory.
std::uint64_t sum_of(tally::nccl_communicator& comm, std::uint64_t mine) {
    law_buffer<tally::device_space, std::uint64_t> word{{mine}};
    comm.all_reduce_sum(word.span());
    return word.read()[0];
}

} // namespace

TEST_CASE("nccl_communicator: the communicator laws in device memory, for 1 to 8 replicas") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        check_communicator_laws([size] { return device_runner{size}; });
    }
}

TEST_CASE("nccl_staged: the communicator laws in host memory, for 1 to 8 replicas") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        check_communicator_laws([size] { return staged_runner{size}; });
    }
}

TEST_CASE("hierarchical_communicator: the communicator laws with NCCL inside of groups and another one between them") {
    if (devices_here() < 4) {
        MESSAGE("skipped: needs four devices");
        return;
    }
    check_communicator_laws([] { return two_groups_runner{}; });
}

TEST_CASE("nccl_communicator: a user's communicator and stream are used and stay the user's") {
    auto const size = group_sizes().back();
    std::vector<ncclComm_t> comms(static_cast<std::size_t>(size));
    REQUIRE(ncclCommInitAll(comms.data(), size, nullptr) == ncclSuccess);
    on_devices(size, [&](int rank) {
        auto const own = comms[static_cast<std::size_t>(rank)];
        cudaStream_t stream = nullptr;
        tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
        {
            tally::nccl_communicator comm{own, stream};
            CHECK(comm.stream() == stream);
            CHECK(comm.device() == rank);
            CHECK(comm.rank() == rank);
            CHECK(sum_of(comm, 5) == 5 * static_cast<std::uint64_t>(size));
        }
        tally::nccl_communicator on_own_stream{own};
        CHECK(on_own_stream.stream() != stream);
        CHECK(sum_of(on_own_stream, 7) == 7 * static_cast<std::uint64_t>(size));
        tally::nccl_communicator on_default_stream{own, nullptr};
        CHECK(on_default_stream.stream() == nullptr);
        CHECK(sum_of(on_default_stream, 9) == 9 * static_cast<std::uint64_t>(size));
        tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    });
    for (auto const comm : comms) {
        ncclResult_t state = ncclInternalError;
        CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
        CHECK(state == ncclSuccess);
        CHECK(ncclCommDestroy(comm) == ncclSuccess); // once: it was not destroyed before
    }
    CHECK_THROWS_AS((tally::nccl_communicator{static_cast<ncclComm_t>(nullptr)}), tally::configuration_error);
}

TEST_CASE("nccl_communicator: made of an id, each replica in its own thread, with the ranks of a host communicator") {
    auto const size = group_sizes().back();
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    on_devices(size, [&](int device) {
        auto const rank = size - 1 - device; // the rank and the device are different things
        tally::nccl_communicator comm{id, rank, size, 60s};
        CHECK(comm.rank() == rank);
        CHECK(comm.device() == device);
        CHECK(sum_of(comm, static_cast<std::uint64_t>(rank)) == static_cast<std::uint64_t>(size * (size - 1) / 2));
    });
    tally::replicas{size, 60s}.run([&](tally::thread_communicator& threads) {
        tally::cuda::check(cudaSetDevice(threads.rank()), "cudaSetDevice");
        auto comm = tally::nccl_over(threads, 60s);
        CHECK(comm.rank() == threads.rank());
        CHECK(comm.size() == size);
        CHECK(works(comm));
    });
}

TEST_CASE("nccl_communicator: splits by color and key, also negative ones; the parts are independent") {
    auto const size = group_sizes().back();
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const rank = comm.rank();
        auto part = comm.split(rank % 2 == 0 ? -5 : 3, -rank); // in the reverse order
        auto const members = rank % 2 == 0 ? (size + 1) / 2 : size / 2;
        CHECK(part.size() == members);
        CHECK(part.rank() == members - 1 - rank / 2);
        CHECK(part.stream() == comm.stream());
        CHECK(part.deadline() == comm.deadline());
        std::uint64_t expected = 0;
        for (int other = rank % 2; other < size; other += 2) {
            expected += static_cast<std::uint64_t>(other);
        }
        CHECK(sum_of(part, static_cast<std::uint64_t>(rank)) == expected);
        part.abort("enough");
        CHECK(works(comm));
        comm.grouped([&] { CHECK_THROWS_AS((void)comm.split(0), tally::configuration_error); });
    });
}

TEST_CASE("nccl_communicator: without some replicas, the others make a group of their own; the old one goes on") {
    auto const size = group_sizes().back();
    if (size < 4) {
        MESSAGE("skipped: needs four devices");
        return;
    }
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const rank = comm.rank();
        CHECK(works(comm));
        if (rank != 0 && rank != 2) { // which take no part
            auto rest = comm.without({2, 0, 2});
            CHECK(rest.size() == size - 2);
            CHECK(rest.rank() == (rank == 1 ? 0 : rank - 2));
            CHECK(rest.device() == comm.device());
            CHECK(rest.stream() == comm.stream());
            CHECK(rest.deadline() == comm.deadline());
            CHECK(sum_of(rest, static_cast<std::uint64_t>(rank)) ==
                  static_cast<std::uint64_t>(size * (size - 1) / 2 - 2));
        }
        CHECK(works(comm));
        for (auto const& wrong : std::vector<std::vector<int>>{{rank}, {-1}, {size}}) {
            CHECK_THROWS_AS((void)comm.without(wrong), tally::configuration_error);
        }
        comm.grouped([&] { CHECK_THROWS_AS((void)comm.without({}), tally::configuration_error); });
        CHECK(works(comm));
    });
}

TEST_CASE("nccl_communicator: a group in which something is thrown makes no call, on no replica") {
    auto const size = group_sizes().back();
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        law_buffer<tally::device_space, std::uint64_t> words{{7, 8}};
        CHECK_THROWS_AS(comm.grouped([&] {
            comm.all_reduce_sum(words.span());
            throw std::runtime_error("the user's own");
        }),
                        std::runtime_error);
        CHECK(words.read() == std::vector<std::uint64_t>{7, 8});
        CHECK(works(comm));
    });
}

TEST_CASE("nccl_communicator: a wrong size or root throws on the replica that passes it, before NCCL is called") {
    auto group = make_group(1);
    on_group(group, [](tally::nccl_communicator& comm) {
        law_buffer<tally::device_space, std::byte> mine{std::vector<std::byte>(3)};
        law_buffer<tally::device_space, std::byte> all{std::vector<std::byte>(4)};
        CHECK_THROWS_AS(comm.all_gather(mine.span(), all.span()), tally::shape_error);
        std::vector<std::uint64_t> word{1};
        for (auto const root : {-1, 1}) {
            CHECK_THROWS_AS(comm.staged().reduce_sum(word, root), tally::configuration_error);
            CHECK_THROWS_AS(comm.gather(mine.span(), mine.span(), root), tally::configuration_error);
        }
        comm.gather(mine.span(), all.span().first(3), 0);
        CHECK(works(comm));
    });
}

TEST_CASE("nccl_communicator: moved from, it belongs to no group; assigned to, it has left the one it had") {
    auto group = make_group(1);
    auto comm = std::move(group[0]);
    CHECK_THROWS_AS((void)group[0].rank(), tally::configuration_error);
    CHECK_THROWS_AS((void)group[0].staged(), tally::configuration_error);
    group[0].abort("nothing to abort");
    CHECK(works(comm));
    auto others = make_group(1);
    comm = std::move(others[0]);
    CHECK(works(comm));
    CHECK_THROWS_AS((void)others[0].size(), tally::configuration_error);
}

TEST_CASE("nccl_staged: all_reduce of users' arrays gives what it gives over threads, in bits") {
    auto const size = group_sizes().back();
    auto const given = [](int rank) {
        std::vector<float> values(70001); // more than one chunk
        for (std::size_t i = 0; i != values.size(); ++i) {
            values[i] = static_cast<float>(i % 97) * 0.1f - static_cast<float>(rank);
        }
        return values;
    };
    auto const expected = tally::replicas{size}.run([&](tally::thread_communicator& comm) {
        auto values = given(comm.rank());
        tally::all_reduce(comm, std::span(values), tally::op::mean{});
        return values;
    });
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto values = given(comm.rank());
        tally::all_reduce(comm.staged(), std::span(values), tally::op::mean{});
        CHECK(values == expected[0]);
        if (size > 1) {
            CHECK_THROWS_AS(
                tally::all_reduce(comm.staged(), std::span(values).first(comm.rank() == 0 ? 2 : 3), tally::op::sum{}),
                tally::layout_mismatch);
        }
    });
}

TEST_CASE("exact rankings over NCCL: a buffer on the host takes the communicator as it is") {
    auto const size = group_sizes().back();
    auto const ranking = [](int rank) {
        tally::host::ranking_buffer<tally::ranked_labels<>> buffer{100};
        std::vector<float> const scores{0.5F, 0.1F * static_cast<float>(rank), 0.3F};
        std::vector<int> const labels{1, rank % 2, 0};
        buffer.update(tally::predictions(scores), tally::targets(labels));
        return buffer;
    };
    auto const expected = tally::replicas{size}.run(
        [&](tally::thread_communicator& comm) { return ranking(comm.rank()).combine(comm).auroc().value(); });
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        CHECK(ranking(comm.rank()).combine(comm).auroc().value() == expected[0]);
        auto const at_root = ranking(comm.rank()).combine_to(comm, 0);
        CHECK(at_root.has_value() == (comm.rank() == 0));
    });
}

TEST_CASE("nccl_communicators: no devices, a device twice or one that is not there are refused") {
    CHECK_THROWS_AS((void)tally::nccl_communicators(std::vector<int>{devices_here()}), tally::error);
    CHECK_THROWS_AS((void)tally::nccl_communicators(std::vector<int>{0, -3}), tally::error);
    CHECK(works(tally::nccl_communicators(std::vector<int>{0})[0])); // and no group of NCCL was left open
}
