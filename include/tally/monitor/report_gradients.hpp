// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How a report takes what a gradient monitor gives: log.write(report{epoch}.add("gradients", monitor.end_epoch(comm))).
// Tags are <tag>_<statistic>/<layer>, so that each statistic is a group of its own with a card for each layer, and
// <tag>/... for what concerns all layers. Say in the tag what was observed: "gradients_before_clipping".
#pragma once

#include <tally/core/result.hpp>
#include <tally/monitor/gradient_report.hpp>
#include <tally/monitor/log_histogram.hpp>
#include <tally/sink/histogram_row.hpp>
#include <tally/sink/report.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

namespace tally {

/// Histograms twice: of the gradients, and of log2 of their magnitudes under <tag>_log2_histogram, since one outlier
/// flattens all the rest of the first in TensorBoard. update_to_weight only where updates were observed. What has no
/// value (no samples, replicas differ) is put with its reason.
template <class Bins>
void report_value(report& page, std::string_view tag, gradient_report<Bins> const& gradients) {
    auto const prefix = std::string(tag);
    auto const each_layer = [&](char const* statistic, auto value_of) {
        for (auto const& layer : gradients) {
            page.put(prefix + "_" + statistic + "/" + layer.name, value_of(layer));
        }
    };
    using layer_type = layer_report<Bins>;
    each_layer("mean", [](layer_type const& l) { return to_number(l.mean); });
    each_layer("mean_magnitude", [](layer_type const& l) { return to_number(l.mean_magnitude); });
    each_layer("norm", [](layer_type const& l) { return to_number(l.norm); });
    each_layer("largest", [](layer_type const& l) { return to_number(l.largest); });
    each_layer("zero_share", [](layer_type const& l) { return to_number(l.zero_share); });
    each_layer("nan", [](layer_type const& l) { return to_number(l.histogram.nans()); });
    each_layer("infinite", [](layer_type const& l) {
        return to_number(l.histogram.positive_infinities() + l.histogram.negative_infinities());
    });
    if (std::any_of(gradients.begin(), gradients.end(),
                    [](layer_type const& l) { return l.update_to_weight.why() != reason::no_samples; })) {
        each_layer("update_to_weight", [](layer_type const& l) { return to_number(l.update_to_weight); });
    }
    each_layer("histogram", [](layer_type const& l) {
        return l.histogram.rows(static_cast<double>(l.largest.value_or(std::numeric_limits<float>::max())));
    });
    each_layer("log2_histogram", [](layer_type const& l) { return l.histogram.log2_rows(); });

    auto const& steps = gradients.steps();
    page.put(prefix + "/global_norm", to_number(gradients.global_norm()));
    page.put(prefix + "/steps", to_number(steps.steps));
    page.put(prefix + "/steps_observed", to_number(steps.observed));
    page.put(prefix + "/steps_clipped", to_number(steps.clipped));
    page.put(prefix + "/steps_skipped", to_number(steps.skipped));
    page.put(prefix + "/loss_scale_smallest", to_number(steps.smallest_loss_scale));
    page.put(prefix + "/loss_scale_largest", to_number(steps.largest_loss_scale));
}

} // namespace tally
