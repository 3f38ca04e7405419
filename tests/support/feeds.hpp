// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Which columns of a dataset a metric under test is fed with.
#pragma once

#include "support/dataset.hpp"

#include <tally/core/inputs.hpp>

namespace tally::testing::feed {

// Each feed calls take(inputs...) with the inputs of one update. Matrices are given with explicit rows, so that empty
// datasets are legal.
inline constexpr auto values = [](dataset const& d, auto&& take) { take(tally::values(d.values)); };
inline constexpr auto regression = [](dataset const& d, auto&& take) {
    take(tally::predictions(d.predictions), tally::targets(d.targets));
};
inline constexpr auto positive = [](dataset const& d, auto&& take) {
    take(tally::predictions(d.probabilities), tally::targets(d.seconds));
};
inline constexpr auto binary = [](dataset const& d, auto&& take) {
    take(tally::predictions(d.probabilities), tally::targets(d.binary));
};
inline constexpr auto labels = [](dataset const& d, auto&& take) {
    take(tally::predictions(d.predicted), tally::targets(d.labels));
};
inline constexpr auto scores = [](dataset const& d, auto&& take) {
    take(tally::scores(d.scores.data(), d.size(), dataset::classes), tally::targets(d.labels));
};
inline constexpr auto probabilities = [](dataset const& d, auto&& take) {
    take(tally::probabilities(d.class_probabilities.data(), d.size(), dataset::classes), tally::targets(d.labels));
};
inline constexpr auto outputs = [](dataset const& d, auto&& take) {
    take(tally::predictions(d.output_predictions.data(), d.size(), dataset::outputs),
         tally::targets(d.output_targets.data(), d.size(), dataset::outputs));
};
inline constexpr auto located = [](dataset const& d, auto&& take) {
    take(tally::values(d.values), tally::positions(d.positions));
};
inline constexpr auto grouped = [](dataset const& d, auto&& take) {
    take(tally::values(d.values), tally::groups(d.groups));
};
inline constexpr auto throughput = [](dataset const& d, auto&& take) {
    take(tally::inputs<"items">(d.items), tally::inputs<"seconds">(d.seconds));
};

/// The same with weights.
template <class Feed>
constexpr auto weighted(Feed inner) {
    return [inner](dataset const& d, auto&& take) {
        inner(d, [&](auto const&... inputs) { take(inputs..., tally::weights(d.weights)); });
    };
}

} // namespace tally::testing::feed
