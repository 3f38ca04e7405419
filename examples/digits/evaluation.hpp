// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The metrics of the example: one collection, updated by one pass over the scores of a batch and combined over the
// replicas by one message. What the tables show is copied out of the result; the log takes the result as it is.
#pragma once

#include "scores.hpp"

#include <tally/tally.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace digits {

using evaluation = tally::collection<                              //
    tally::named<"loss", tally::log_loss<>>,                       //
    tally::named<"top-1", tally::accuracy<>>,                      //
    tally::named<"top-3", tally::accuracy<tally::top_k<3>>>,       //
    tally::named<"macro F1", tally::f1<tally::classes<10>>>,       //
    tally::named<"calibration error", tally::calibration_error<>>, //
    tally::named<"AUROC", tally::multiclass_auroc<10>>,            //
    tally::named<"confusion", tally::confusion_matrix<10>>>;

/// What the tables and files show. A value that doesn't exist becomes NaN, shown as "-".
inline scores scores_of(tally::combined<evaluation> const& result) {
    using namespace tally::literals;
    scores all{{result["loss"_metric], result["top-1"_metric], result["top-3"_metric], result["macro F1"_metric],
                result["calibration error"_metric], result["AUROC"_metric]},
               {}};
    auto const confusion = result["confusion"_metric];
    for (std::size_t truth = 0; truth < num_classes; ++truth) {
        for (std::size_t predicted = 0; predicted < num_classes; ++predicted) {
            all.confusion[truth][predicted] = confusion(truth, predicted);
        }
    }
    return all;
}

/// What one replica has seen of the held-out samples. The engine says where its states live and its updates run.
template <class Engine>
class basic_evaluator {
public:
    /// `logits` holds labels.size() rows of 10 scores; both are in the engine's memory.
    void update(std::span<float const> logits, std::span<std::int32_t const> labels) {
        tracker_.update(tally::scores(logits.data(), labels.size(), num_classes), tally::targets(labels));
    }

    /// A collective: the metrics of all replicas' samples.
    template <class Communicator>
    tally::combined<evaluation> combine(Communicator& comm) const {
        return tracker_.combine(comm);
    }

private:
    typename Engine::template tracker<evaluation> tracker_;
};

using evaluator = basic_evaluator<tally::host::engine<>>;

} // namespace digits
