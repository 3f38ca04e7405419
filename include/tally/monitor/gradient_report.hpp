// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a gradient monitor gives when asked: values of each layer by name, of all layers together, and of the steps.
// A value, not a view. tally/monitor/report_gradients.hpp says how it is written to a log.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/result.hpp>
#include <tally/monitor/gradient_statistics.hpp>
#include <tally/monitor/layer_registry.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// Values of a layer that has a name and a size.
template <class Bins>
struct layer_report : layer_values<Bins> {
    std::string name;
    std::size_t size = 0; ///< elements of the whole gradient
    /// How many whole gradients were observed: elements / size. Steps, times replicas where each has its own gradient.
    double gradients = 0.0;
    /// L2 norm of the gradient, for one gradient sqrt(sum of g^2); the root mean square of the norms of several.
    result<double> norm = reason::no_samples;
};

template <class Bins>
class gradient_report {
public:
    gradient_report(layer_registry const& registry, gradient_values<Bins> values, int replicas)
        : steps_{values.steps}, replicas_{replicas} {
        layers_.reserve(registry.size());
        for (std::size_t i = 0; i < registry.size(); ++i) {
            layers_.push_back(named_values(registry[i], std::move(values.layers[i])));
        }
    }

    [[nodiscard]] std::size_t size() const { return layers_.size(); }
    [[nodiscard]] layer_report<Bins> const& operator[](std::size_t index) const { return layers_[index]; }
    /// Throws configuration_error for an unknown name.
    [[nodiscard]] layer_report<Bins> const& operator[](std::string_view name) const {
        for (auto const& each : layers_) {
            if (each.name == name) {
                return each;
            }
        }
        throw configuration_error("the report has no layer \"" + std::string(name) + "\"");
    }
    [[nodiscard]] auto begin() const { return layers_.begin(); }
    [[nodiscard]] auto end() const { return layers_.end(); }

    [[nodiscard]] step_values const& steps() const { return steps_; }
    /// How many replicas the values cover.
    [[nodiscard]] int replicas() const { return replicas_; }

    /// L2 norm over all layers that were observed: the root of the sum of their squared norms.
    [[nodiscard]] result<double> global_norm() const {
        double squares = 0.0;
        bool any = false;
        for (auto const& each : layers_) {
            if (each.norm) {
                any = true;
                squares += each.norm.value() * each.norm.value();
            } else if (each.norm.why() == reason::replicas_differ) {
                return reason::replicas_differ;
            }
        }
        return any ? result<double>(std::sqrt(squares)) : result<double>(reason::no_samples);
    }

private:
    static layer_report<Bins> named_values(layer const& registered, layer_values<Bins> values) {
        layer_report<Bins> report;
        static_cast<layer_values<Bins>&>(report) = std::move(values);
        report.name = registered.name;
        report.size = registered.size;
        report.gradients = static_cast<double>(report.histogram.total()) / static_cast<double>(registered.size);
        if (!report.root_mean_square) {
            report.norm = report.root_mean_square.why();
        } else {
            report.norm = std::sqrt(report.sum_of_squares / report.gradients);
        }
        report.norm = report.norm.with_dropped(report.root_mean_square.dropped());
        return report;
    }

    std::vector<layer_report<Bins>> layers_;
    step_values steps_;
    int replicas_;
};

} // namespace tally
