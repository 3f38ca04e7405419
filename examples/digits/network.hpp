// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A small classifier, 64 pixels - 32 hidden units (ReLU) - 10 classes, trained by softmax cross-entropy and gradient
// descent with momentum. All parameters lie in one array and so do their gradients: replicas add up a whole gradient by
// one all-reduce. Real is float for training; double makes the gradients checkable by finite differences.
#pragma once

#include "dataset.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace digits {

/// A part of the array of parameters, and of that of gradients.
struct layer_place {
    std::string_view name;
    std::size_t begin;
    std::size_t size;
};

template <class Real>
class network {
public:
    static constexpr std::size_t num_hidden = 32;
    static constexpr std::size_t num_parameters =
        num_pixels * num_hidden + num_hidden + num_hidden * num_classes + num_classes;

    /// Random weights (He's uniform initialisation) that depend on the seed alone; biases are zero.
    explicit network(std::uint64_t seed);

    /// Scores before the softmax: `pixels` holds rows x 64 values, `logits` takes rows x 10.
    /// The scores of a row have the same bits whatever rows it is processed with.
    void forward(std::span<Real const> pixels, std::span<Real> logits) const;

    /// Overwrites `gradients` (num_parameters) with the SUM over the rows of the derivatives of the loss
    /// log(sum exp(logits)) - logits[label]. No rows give zeros. Labels are 0 ... 9.
    void loss_gradients(std::span<Real const> pixels, std::span<std::int32_t const> labels,
                        std::span<Real> gradients) const;

    /// Where each layer's weights and biases are, in the order of the array.
    static constexpr std::array<layer_place, 4> layers() {
        return {{{"hidden/weights", 0, hidden_bias},
                 {"hidden/bias", hidden_bias, num_hidden},
                 {"output/weights", output_weights, num_hidden * num_classes},
                 {"output/bias", output_bias, num_classes}}};
    }

    std::span<Real> parameters() { return parameters_; }
    std::span<Real const> parameters() const { return parameters_; }

private:
    // Offsets in the array of parameters: first-layer weights [pixel][unit] and biases, second-layer weights
    // [unit][class] and biases. The innermost index is the one that the loops vectorise over.
    static constexpr std::size_t hidden_bias = num_pixels * num_hidden;
    static constexpr std::size_t output_weights = hidden_bias + num_hidden;
    static constexpr std::size_t output_bias = output_weights + num_hidden * num_classes;

    void forward_row(Real const* pixels, Real* hidden, Real* logits) const;

    std::vector<Real> parameters_;
};

/// Gradient descent with momentum: velocity = momentum * velocity - rate * gradient; parameter += velocity.
template <class Real>
class momentum_descent {
public:
    momentum_descent(std::size_t num_parameters, Real learning_rate, Real momentum);

    /// One step along `gradient_sum / samples`.
    void step(std::span<Real> parameters, std::span<Real const> gradient_sum, std::size_t samples);

    /// What the last step added to the parameters.
    std::span<Real const> velocity() const { return velocity_; }
    std::span<Real> velocity() { return velocity_; }

private:
    std::vector<Real> velocity_;
    Real learning_rate_;
    Real momentum_;
};

extern template class network<float>;
extern template class network<double>;
extern template class momentum_descent<float>;
extern template class momentum_descent<double>;

} // namespace digits
