// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exp(score - log_sum_exp) of one row: a plain vector loop. The remainder goes through a small buffer and the same exp,
// so a score's result does not depend on where it stands, and in place works.

template <isa Built, class T>
void softmax_row(T const* scores, std::size_t columns, T log_sum_exp, T* out) noexcept {
    using V = simd<T>;
    std::size_t i = 0;
    for (; i + V::lanes <= columns; i += V::lanes) {
        V const x{V::load(scores + i).v - log_sum_exp};
        exp(x).store(out + i);
    }
    if (i == columns) return;
    T rest[V::lanes] = {};
    for (std::size_t k = 0; i + k < columns; ++k) rest[k] = scores[i + k];
    V const x{V::load(rest).v - log_sum_exp};
    exp(x).store(rest);
    for (std::size_t k = 0; i + k < columns; ++k) out[i + k] = rest[k];
}
