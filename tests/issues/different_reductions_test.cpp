// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: replicas reduce different things (a sum here, a mean there; floats and integers; another size), and
// each gets a number, or one returns while another waits out the deadline with half of its data overwritten.
#include <tally/comm/all_reduce.hpp>
#include <tally/comm/replicas.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace tally;

/// One all_reduce of this replica: its outcome as text, and whether the data is as before.
template <class T, class Op>
std::string outcome_of(thread_communicator& comm, std::size_t size, Op operation) {
    std::vector<T> data(size, T{3});
    std::string text = "no exception";
    try {
        all_reduce(comm, std::span<T>(data), operation);
    } catch (layout_mismatch const& difference) {
        text = difference.what();
    } catch (error const& lost) {
        text = std::string("another error: ") + lost.what();
    }
    bool const untouched = std::all_of(data.begin(), data.end(), [](T x) { return x == T{3}; });
    return untouched ? text : text + ", and the data changed";
}

/// The text that all replicas must have got from replica 0's call and the last one's, which differs.
template <class First, class Last>
std::string common_text(int count, First of_others, Last of_last) {
    auto const texts = replicas{count, std::chrono::seconds{2}}.run([&](thread_communicator& comm) {
        auto text = comm.rank() + 1 == count ? of_last(comm) : of_others(comm);
        CHECK(outcome_of<float>(comm, 1, op::min{}) == "no exception"); // the group still works
        return text;
    });
    for (auto const& text : texts) {
        CHECK(text == texts[0]);
    }
    return texts[0];
}

} // namespace

TEST_CASE("different reductions: another operation") {
    auto const sum = [](auto& comm) { return outcome_of<float>(comm, 4, op::sum{}); };
    auto const mean = [](auto& comm) { return outcome_of<float>(comm, 4, op::mean{}); };
    CHECK(common_text(2, sum, mean) == "replica 0 called all_reduce of 4 elements of type float32 with op::sum, "
                                       "replica 1 called all_reduce of 4 elements of type float32 with op::mean");
    auto const min = [](auto& comm) { return outcome_of<float>(comm, 4, op::min{}); };
    auto const max = [](auto& comm) { return outcome_of<float>(comm, 4, op::max{}); };
    CHECK(common_text(3, min, max) == "replica 0 called all_reduce of 4 elements of type float32 with op::min, "
                                      "replica 2 called all_reduce of 4 elements of type float32 with op::max");
}

TEST_CASE("different reductions: another element type of the same size") {
    auto const floats = [](auto& comm) { return outcome_of<float>(comm, 4, op::max{}); };
    auto const integers = [](auto& comm) { return outcome_of<std::int32_t>(comm, 4, op::max{}); };
    CHECK(common_text(2, floats, integers) == "replica 0 called all_reduce of 4 elements of type float32 with op::max, "
                                              "replica 1 called all_reduce of 4 elements of type int32 with op::max");
}

TEST_CASE("different reductions: another size, equal in the first message") {
    auto const shorter = [](auto& comm) { return outcome_of<float>(comm, 65536, op::sum{}); };
    auto const longer = [](auto& comm) { return outcome_of<float>(comm, 65541, op::sum{}); };
    CHECK(common_text(2, shorter, longer) ==
          "replica 0 called all_reduce of 65536 elements of type float32 with op::sum, "
          "replica 1 called all_reduce of 65541 elements of type float32 with op::sum");
}
