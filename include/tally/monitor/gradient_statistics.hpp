// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The metric behind gradient monitors: for each layer sums, the largest magnitude and a histogram in logarithmic bins,
// in tables over the layers; beside them what happened to the steps. All of it is one state, so messages, snapshots and
// the comparison of layouts are those of any metric. Any tracker can run it on (group, value) pairs, which is slow.
#pragma once

#include <tally/accumulator/across.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/extrema.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/logarithmic_bins.hpp>
#include <tally/layout/table.hpp>
#include <tally/monitor/distribution.hpp>
#include <tally/monitor/layer_sums.hpp>
#include <tally/monitor/log_histogram.hpp>
#include <tally/monitor/name_digest.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tally {

/// Extent of the tables of a monitor.
struct num_layers {
    std::size_t value;
};

/// Default bins of gradient histograms: 520 cells, magnitudes from 2^-48 (3.6e-15) to 2^16, 4 bins an octave, quantiles
/// within 11 %. For the whole range of float use logarithmic_bins<2>.
using gradient_bins = logarithmic_bins<2, -48, 16>;

/// What a monitor's values cover. Two types, so that replicas can't combine an epoch with a step.
struct whole_epoch {
    static constexpr fixed_string name = "whole_epoch";
};
struct last_step {
    static constexpr fixed_string name = "last_step";
};

/// Values of one layer over all gradients observed. Means, norms and extremes are over finite elements; how many were
/// NaN or infinite is in `histogram` and in dropped(). Results say reason::replicas_differ if replicated gradients were
/// not the same on all replicas.
template <class Bins>
struct layer_values {
    log_histogram<Bins> histogram;
    result<double> mean = reason::no_samples;             ///< of g
    result<double> mean_magnitude = reason::no_samples;   ///< of |g|
    result<double> root_mean_square = reason::no_samples; ///< sqrt of the mean of g^2
    result<float> largest = reason::no_samples;           ///< of |g|
    result<double> zero_share = reason::no_samples;       ///< exact zeros in all elements
    /// sqrt(sum of update^2 / sum of weight^2), if updates were observed.
    result<double> update_to_weight = reason::no_samples;
    double sum_of_squares = 0.0;
};

/// What happened to the steps of the training. The same on all replicas; if not, the highest counts.
struct step_values {
    std::uint64_t steps = 0;    ///< begun and ended, skipped ones included
    std::uint64_t observed = 0; ///< that went into the statistics
    std::uint64_t clipped = 0;
    std::uint64_t skipped = 0;
    result<float> smallest_loss_scale = reason::no_samples; ///< of observed and skipped steps
    result<float> largest_loss_scale = reason::no_samples;
};

template <class Bins>
struct gradient_values {
    std::vector<layer_values<Bins>> layers;
    step_values steps;
};

/// Bytes: 704 (replicated: 752) and 8 Bins::cells a layer, 4.9 KB with the default bins.
template <distribution D, class Bins>
struct gradient_state {
    table<layer_sums<D>, extents<num_layers>> sums;
    table<distributed<D, count>, extents<num_layers, fixed<Bins::cells>>> cells;
    across<op::max, count> steps;
    across<op::max, count> observed;
    across<op::max, count> clipped;
    across<op::max, count> skipped;
    minimum<float> smallest_scale;
    maximum<float> largest_scale;
    name_digest names;
};

/// Partition law: exact. Sums are exact and rounded once, when a value is asked for.
template <distribution D, class Bins = gradient_bins, class Window = whole_epoch>
struct gradient_statistics {
    using distribution_type = D;
    using bins = Bins;
    using state = gradient_state<D, Bins>;

    TALLY_HD static constexpr auto observe(group_index layer, value<float> gradient) {
        auto const l = static_cast<std::int32_t>(layer);
        auto const cell = static_cast<std::int64_t>(Bins::index(gradient.value));
        return contribute(at(l).add(gradient.value), at(l, cell), nothing, nothing, nothing, nothing, nothing, nothing,
                          nothing);
    }

    static gradient_values<Bins> finalize(state const& s) {
        gradient_values<Bins> result;
        result.layers.reserve(s.sums.cells());
        for (std::size_t layer = 0; layer < s.sums.cells(); ++layer) {
            std::vector<std::uint64_t> cells(Bins::cells);
            for (std::size_t k = 0; k < Bins::cells; ++k) {
                cells[k] = s.cells(layer, k).value();
            }
            result.layers.push_back(values_of(s.sums(layer), log_histogram<Bins>{std::move(cells)}));
        }
        result.steps = {s.steps.value(),   s.observed.value(),       s.clipped.value(),
                        s.skipped.value(), s.smallest_scale.value(), s.largest_scale.value()};
        return result;
    }

private:
    static layer_values<Bins> values_of(layer_sums<D> const& sums, log_histogram<Bins> histogram) {
        auto const total = histogram.total();
        auto const finite = histogram.finite();
        layer_values<Bins> v;
        v.sum_of_squares = sums.square_sum();
        v.mean = ratio(sums.value_sum(), count{finite}).with_dropped(total - finite);
        v.mean_magnitude = ratio(sums.magnitude_sum(), count{finite}).with_dropped(total - finite);
        v.root_mean_square = root(ratio(sums.square_sum(), count{finite})).with_dropped(total - finite);
        v.largest = sums.largest_value().with_dropped(total - finite);
        v.zero_share = ratio(count{histogram.zeros()}, count{total});
        if (sums.update_square_sum() != 0.0 || sums.weight_square_sum() != 0.0) {
            v.update_to_weight = root(ratio(sums.update_square_sum(), sums.weight_square_sum()));
        }
        v.histogram = std::move(histogram);
        if (sums.conflict()) {
            v.mean = v.mean_magnitude = v.root_mean_square = v.zero_share = v.update_to_weight =
                result<double>(reason::replicas_differ);
            v.largest = reason::replicas_differ;
        }
        return v;
    }
    static result<double> root(result<double> square) {
        return square ? result<double>(std::sqrt(square.value())) : square;
    }
};

} // namespace tally
