// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// layout_hash: equal for what may be combined, different for everything that may not.
#include <tally/accumulator/across.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/histogram.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>
#include <tally/metric/variance.hpp>
#include <tally/op/ops.hpp>
#include <tally/state/fingerprint.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <ratio>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

using tally::collection;
using tally::named;

template <class M, class... Sizes>
std::uint64_t hash_of(Sizes... sizes) {
    return tally::layout_hash<M>(tally::states_of<M>{std::tuple<Sizes...>{sizes...}});
}

/// A metric whose one field is an Acc.
template <class Acc>
struct one_field {
    struct state {
        Acc field;
    };
    static auto observe(tally::value<double> x) { return tally::contribute(x.value); }
    static double finalize(state const&) { return 0.0; }
};
template <class Op>
using across_sum = one_field<tally::across<Op, tally::sum<double>>>;

struct plane {
    struct state {
        tally::table<tally::count, tally::extents<tally::num_classes, tally::num_labels>> cells;
    };
    static auto observe(tally::target<tally::class_index> i) { return tally::contribute(tally::at(i, i)); }
    static double finalize(state const&) { return 0.0; }
};

/// The same fields in another order.
struct total_then_samples {
    struct state {
        tally::sum<double> total;
        tally::count samples;
    };
    static auto observe(tally::value<double> x) { return tally::contribute(x.value, tally::one); }
    static double finalize(state const&) { return 0.0; }
};

} // namespace

TEST_CASE("layout_hash: equal types and shapes, equal hashes") {
    CHECK(hash_of<tally::mean<>>() == hash_of<tally::mean<float>>());
    CHECK(hash_of<tally::mean<>>() == hash_of<tally::mean<float, tally::exact_sum<float>, tally::unweighted>>());
    CHECK(hash_of<tally::confusion_matrix<>>(tally::num_classes{7}) ==
          hash_of<tally::confusion_matrix<>>(tally::num_classes{7}));
    using first = collection<named<"a", tally::mean<>>, named<"b", tally::total<>>>;
    using second = collection<named<"a", tally::mean<float>>, named<"b", tally::total<float>>>;
    CHECK(hash_of<first>() == hash_of<second>());
}

TEST_CASE("layout_hash: the data don't take part") {
    tally::states_of<tally::mean<>> states{std::tuple<>{}};
    auto const before = tally::layout_hash<tally::mean<>>(states);
    states.get<1>().total.deposit(5.0F);
    CHECK(tally::layout_hash<tally::mean<>>(states) == before);
}

TEST_CASE("layout_hash: every name, type, policy, extent, operation and order counts") {
    using tally::mean;
    using tally::total;
    std::vector<std::uint64_t> const hashes{
        // types and sums
        hash_of<mean<>>(),
        hash_of<mean<double>>(),
        hash_of<mean<float, tally::sum<float>>>(),
        hash_of<total<>>(),
        hash_of<total<std::int64_t>>(),
        hash_of<total<std::uint64_t>>(),
        hash_of<total_then_samples>(),
        // policies, weighting
        hash_of<total<float, tally::sum<double>, tally::nan::propagate>>(),
        hash_of<tally::weighted<mean<>>>(),
        hash_of<tally::weighted<mean<>, double>>(),
        hash_of<tally::variance<float, 0>>(),
        hash_of<tally::variance<float, 1>>(),
        hash_of<tally::confusion_matrix<4, tally::labels::ignore<0>>>(),
        hash_of<tally::confusion_matrix<4, tally::labels::ignore<1>>>(),
        // extents, known early or late
        hash_of<tally::confusion_matrix<4>>(),
        hash_of<tally::confusion_matrix<5>>(),
        hash_of<tally::confusion_matrix<>>(tally::num_classes{4}),
        hash_of<tally::confusion_matrix<>>(tally::num_classes{5}),
        hash_of<plane>(tally::num_classes{2}, tally::num_labels{3}),
        hash_of<plane>(tally::num_classes{3}, tally::num_labels{2}), // as many cells
        hash_of<plane>(tally::num_classes{6}, tally::num_labels{1}),
        hash_of<tally::grouped<mean<>, 4>>(),
        hash_of<tally::grouped<mean<>>>(tally::num_groups{4}),
        // bins: as many, elsewhere
        hash_of<tally::histogram<tally::linear_bins<4>>>(),
        hash_of<tally::histogram<tally::linear_bins<5>>>(),
        hash_of<tally::histogram<tally::linear_bins<4, std::ratio<0>, std::ratio<2>>>>(),
        // operations between replicas
        hash_of<one_field<tally::sum<double>>>(),
        hash_of<across_sum<tally::op::sum>>(),
        hash_of<across_sum<tally::op::min>>(),
        hash_of<across_sum<tally::op::max>>(),
        hash_of<across_sum<tally::op::first>>(),
        hash_of<across_sum<tally::op::replicated>>(),
        hash_of<across_sum<tally::op::ordered>>(),
        // a single metric is no collection of it; names and their order
        hash_of<collection<named<"a", mean<>>>>(),
        hash_of<collection<named<"b", mean<>>>>(),
        hash_of<collection<named<"a", mean<>>, named<"b", total<>>>>(),
        hash_of<collection<named<"b", total<>>, named<"a", mean<>>>>(),
        hash_of<collection<named<"a", total<>>, named<"b", mean<>>>>(),
        hash_of<collection<named<"a", mean<>>, named<"b", mean<>>>>(),
        hash_of<collection<named<"a", mean<>>, named<"b", mean<>>, named<"c", mean<>>>>(),
    };
    std::set<std::uint64_t> const distinct(hashes.begin(), hashes.end());
    CHECK(distinct.size() == hashes.size());
}

TEST_CASE("metric_fingerprints: names of a collection, or the metric's own") {
    using two = collection<named<"loss", tally::mean<>>, named<"sum", tally::total<>>>;
    auto const lines = tally::detail::metric_fingerprints<two>(tally::states_of<two>{std::tuple<>{}});
    CHECK(lines[0].name == "loss");
    CHECK(lines[1].name == "sum");
    CHECK(lines[0].hash != lines[1].hash);
    auto const one = tally::detail::metric_fingerprints<tally::mean<>>(tally::states_of<tally::mean<>>{std::tuple<>{}});
    CHECK(one[0].name.find("mean") != std::string_view::npos);
}
