// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "network.hpp"

#include "random.hpp"

#include <algorithm>
#include <cmath>

namespace digits {

template <class Real>
network<Real>::network(std::uint64_t seed) : parameters_(num_parameters, Real{0}) {
    random_numbers random{seed, purpose::weights};
    auto const fill = [&](std::size_t begin, std::size_t end, std::size_t fan_in) {
        double const bound = std::sqrt(6.0 / static_cast<double>(fan_in));
        for (std::size_t i = begin; i < end; ++i) parameters_[i] = static_cast<Real>(bound * random.signed_unit());
    };
    fill(0, hidden_bias, num_pixels);
    fill(output_weights, output_bias, num_hidden);
}

template <class Real>
void network<Real>::forward_row(Real const* pixels, Real* hidden, Real* logits) const {
    Real const* const p = parameters_.data();
    std::copy_n(p + hidden_bias, num_hidden, hidden);
    for (std::size_t i = 0; i < num_pixels; ++i) {
        for (std::size_t h = 0; h < num_hidden; ++h) hidden[h] += pixels[i] * p[i * num_hidden + h];
    }
    for (std::size_t h = 0; h < num_hidden; ++h) hidden[h] = std::max(hidden[h], Real{0});
    std::copy_n(p + output_bias, num_classes, logits);
    for (std::size_t h = 0; h < num_hidden; ++h) {
        Real const* const weights = p + output_weights + h * num_classes;
        for (std::size_t c = 0; c < num_classes; ++c) logits[c] += hidden[h] * weights[c];
    }
}

template <class Real>
void network<Real>::forward(std::span<Real const> pixels, std::span<Real> logits) const {
    std::size_t const rows = logits.size() / num_classes;
    for (std::size_t row = 0; row < rows; ++row) {
        Real hidden[num_hidden];
        forward_row(pixels.data() + row * num_pixels, hidden, logits.data() + row * num_classes);
    }
}

template <class Real>
void network<Real>::loss_gradients(std::span<Real const> pixels, std::span<std::int32_t const> labels,
                                   std::span<Real> gradients) const {
    std::fill(gradients.begin(), gradients.end(), Real{0});
    Real const* const p = parameters_.data();
    Real* const g = gradients.data();
    for (std::size_t row = 0; row < labels.size(); ++row) {
        Real const* const input = pixels.data() + row * num_pixels;
        Real hidden[num_hidden];
        Real logits[num_classes];
        forward_row(input, hidden, logits);

        // d loss / d logit = softmax probability, less one for the right class
        Real const largest = *std::max_element(logits, logits + num_classes);
        Real output_delta[num_classes];
        Real total{0};
        for (std::size_t c = 0; c < num_classes; ++c) total += output_delta[c] = std::exp(logits[c] - largest);
        for (Real& delta : output_delta) delta /= total;
        output_delta[labels[row]] -= Real{1};

        Real hidden_delta[num_hidden];
        for (std::size_t h = 0; h < num_hidden; ++h) {
            Real const* const weights = p + output_weights + h * num_classes;
            Real* const weight_gradients = g + output_weights + h * num_classes;
            Real delta{0};
            for (std::size_t c = 0; c < num_classes; ++c) {
                delta += output_delta[c] * weights[c];
                weight_gradients[c] += hidden[h] * output_delta[c];
            }
            hidden_delta[h] = hidden[h] > Real{0} ? delta : Real{0};
        }
        for (std::size_t c = 0; c < num_classes; ++c) g[output_bias + c] += output_delta[c];
        for (std::size_t i = 0; i < num_pixels; ++i) {
            for (std::size_t h = 0; h < num_hidden; ++h) g[i * num_hidden + h] += input[i] * hidden_delta[h];
        }
        for (std::size_t h = 0; h < num_hidden; ++h) g[hidden_bias + h] += hidden_delta[h];
    }
}

template <class Real>
momentum_descent<Real>::momentum_descent(std::size_t num_parameters, Real learning_rate, Real momentum)
    : velocity_(num_parameters, Real{0}), learning_rate_{learning_rate}, momentum_{momentum} {}

template <class Real>
void momentum_descent<Real>::step(std::span<Real> parameters, std::span<Real const> gradient_sum, std::size_t samples) {
    Real const rate = learning_rate_ / static_cast<Real>(samples);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        velocity_[i] = momentum_ * velocity_[i] - rate * gradient_sum[i];
        parameters[i] += velocity_[i];
    }
}

template class network<float>;
template class network<double>;
template class momentum_descent<float>;
template class momentum_descent<double>;

} // namespace digits
