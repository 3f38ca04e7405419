// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the agreement of two labellings is computed from: the margins of the table of predicted against true classes.
// Shared by cohen_kappa and matthews_correlation. The sums of products are formed without cancelling large squares.
#pragma once

#include <tally/core/weighting.hpp>
#include <tally/metric/class_source.hpp>

#include <cstddef>
#include <type_traits>

namespace tally::detail {

/// Source of a metric that needs every sample in exactly one class.
template <class Source>
struct table_source {
    static_assert(!std::is_void_v<typename Source::table>,
                  "tally: this metric needs one class a sample: use classes<> or binary<>, not multilabel<>");
    using type = typename Source::table;
};

/// With N samples, p_k predictions and t_k samples of class k, c right ones. A prediction that is no class is a class
/// of its own without samples. All in double: the products pass 2^64 from 2^32 samples on.
struct class_margins {
    double covariance = 0;       ///< c N - sum p_k t_k = sum (tp_k tn_k - fp_k fn_k)
    double predicted_spread = 0; ///< N^2 - sum p_k^2 = sum p_k (N - p_k)
    double true_spread = 0;      ///< N^2 - sum t_k^2 = sum t_k (N - t_k)
    double disagreement = 0;     ///< N^2 - sum p_k t_k = sum t_k (N - p_k)
    double total = 0;
    int predicted_classes = 0; ///< that occur; told apart by counting, not by a rounded difference
    int true_classes = 0;
};

template <class View>
class_margins margins_of(View const& view) {
    class_margins m;
    m.total = view.total();
    for (std::size_t k = 0; k < view.size(); ++k) {
        if (view.takes_part(k)) {
            auto const c = view.outcomes(k);
            auto const not_predicted = c.false_negatives + c.true_negatives;
            auto const not_true = c.false_positives + c.true_negatives;
            m.covariance += c.true_positives * c.true_negatives - c.false_positives * c.false_negatives;
            m.predicted_spread += c.predicted() * not_predicted;
            m.true_spread += c.support() * not_true;
            m.disagreement += c.support() * not_predicted;
            m.predicted_classes += c.predicted() != 0 ? 1 : 0;
            m.true_classes += c.support() != 0 ? 1 : 0;
        }
    }
    auto const none = view.unclassified();
    m.predicted_spread += none * (m.total - none);
    m.predicted_classes += none != 0 ? 1 : 0;
    return m;
}

} // namespace tally::detail
