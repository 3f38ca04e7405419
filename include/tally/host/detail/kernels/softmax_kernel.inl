// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exp((score - max_score) - log_sum) of one row: a plain vector loop. The remainder goes through a small buffer and the
// same exp, so a score's result does not depend on where it stands, and in place works.

template <isa Built, class T>
void softmax_row(T const* scores, std::size_t columns, T max_score, T log_sum, T* out) noexcept {
    using V = simd<T>;
    T const floor = exp_floor<T>(), ceiling = exp_ceiling<T>();
    std::size_t i = 0;
    for (; i + V::lanes <= columns; i += V::lanes) {
        V const x{(V::load(scores + i).v - max_score) - log_sum};
        exp(x, floor, ceiling).store(out + i);
    }
    if (i == columns) return;
    T rest[V::lanes] = {};
    for (std::size_t k = 0; i + k < columns; ++k) rest[k] = scores[i + k];
    V const x{(V::load(rest).v - max_score) - log_sum};
    exp(x, floor, ceiling).store(rest);
    for (std::size_t k = 0; i + k < columns; ++k) out[i + k] = rest[k];
}
