// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// confusion_matrix: how often each class was predicted for each true class, with normalised views.
// Exact under any partition (integers); the weighted form is bounded.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/class_index.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/policies.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally {

/// The value of a confusion_matrix. Row: true class; column: predicted class. `Number` is std::uint64_t, or double if
/// samples count by weight. Indices must be < size().
template <class Number>
class confusion {
public:
    confusion(std::size_t size, std::vector<Number> cells, std::uint64_t outside, std::uint64_t ignored)
        : size_{size}, cells_{std::move(cells)}, rows_(size), columns_(size), outside_{outside}, ignored_{ignored} {
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            rows_[i / size] += cells_[i];
            columns_[i % size] += cells_[i];
            total_ += cells_[i];
        }
    }

    /// Number of classes.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Number operator()(std::size_t truth, std::size_t predicted) const {
        return cells_[truth * size_ + predicted];
    }
    /// size() x size() cells in row-major order.
    [[nodiscard]] std::vector<Number> const& cells() const { return cells_; }
    [[nodiscard]] Number total() const { return total_; }

    /// Share of the samples of a class that were predicted as another. reason::absent_class if the class has none.
    [[nodiscard]] result<double> by_true(std::size_t truth, std::size_t predicted) const {
        return share((*this)(truth, predicted), rows_[truth], reason::absent_class);
    }
    /// Share of the predictions of a class. reason::absent_class if it was never predicted.
    [[nodiscard]] result<double> by_predicted(std::size_t truth, std::size_t predicted) const {
        return share((*this)(truth, predicted), columns_[predicted], reason::absent_class);
    }
    /// Share of all samples. reason::no_samples if there are none.
    [[nodiscard]] result<double> by_all(std::size_t truth, std::size_t predicted) const {
        return share((*this)(truth, predicted), total_, reason::no_samples);
    }

    /// Samples that are in no cell, because the target or the prediction is no class (NaN, out of range).
    [[nodiscard]] std::uint64_t outside() const { return outside_; }
    /// Samples whose target is the ignored label; they are in no cell and not outside.
    [[nodiscard]] std::uint64_t ignored() const { return ignored_; }

private:
    [[nodiscard]] result<double> share(Number cell, Number of, reason why) const {
        if (of == 0) {
            return result<double>(why).with_dropped(outside_);
        }
        return result<double>(static_cast<double>(cell) / static_cast<double>(of)).with_dropped(outside_);
    }

    std::size_t size_;
    std::vector<Number> cells_;
    std::vector<Number> rows_;
    std::vector<Number> columns_;
    Number total_{};
    std::uint64_t outside_;
    std::uint64_t ignored_;
};

/// Counts of (true class, predicted class). update needs scores(...), probabilities(...) or integer predictions(...),
/// and targets(...). `Classes` is their number, or `dynamic`: then num_classes{n} is given to the tracker.
/// State: 8 Classes^2 + 16 bytes; 7.6 MiB for 1,000 classes, all of which travel in a combine: for scores of that many
/// classes prefer precision, recall and the like, whose counters grow with Classes only.
/// A target or prediction that is no class (NaN, out of range, a predicted label that is ignored) is in no cell and
/// counted by outside(): never clamped, never written elsewhere. No data: all cells 0, total() 0. Shares of nothing
/// have a reason and no value.
template <std::size_t Classes = dynamic, class Labels = labels::all, class Weighting = unweighted>
struct confusion_matrix {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = confusion_matrix<Classes, Labels, Other>;
    using extent = detail::extent_or<Classes, num_classes>;

    struct state {
        table<cell_count_of<Weighting>, extents<extent, extent>> cells;
        occurrences ignored;
    };
    TALLY_HD static constexpr auto observe(predicted_class guess, target<class_index> truth) {
        bool const ignored = Labels::ignores(truth);
        std::int32_t const column = Labels::ignores(guess) ? class_index::invalid() : guess;
        return contribute(when(!ignored, at(truth, column)), when(ignored, one));
    }
    static auto finalize(state const& s) {
        using number = std::remove_cvref_t<decltype(s.cells(0, 0).value())>;
        std::vector<number> cells;
        cells.reserve(s.cells.cells());
        for (std::size_t i = 0; i < s.cells.cells(); ++i) {
            cells.push_back(s.cells.data()[i].value());
        }
        return confusion<number>(s.cells.extent(0), std::move(cells), s.cells.outside(), s.ignored.value());
    }
};

} // namespace tally
