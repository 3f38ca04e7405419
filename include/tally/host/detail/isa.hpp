// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Instruction sets that the host kernels are built for, and which of them the running CPU has. A plain x86-64 build
// carries all three and picks one per tile of rows; a build for a newer machine skips the older ones. Other
// architectures have `baseline` only: 16-byte vectors, which GCC and Clang map to NEON, VSX or plain code.
#pragma once

#include <cstddef>

namespace tally::host::detail {

enum class isa { baseline, avx2, avx512 };

/// Bytes of the vectors that a kernel for `Level` works with.
template <isa Level>
inline constexpr std::size_t vector_bytes = Level == isa::avx512 ? 64
                                            : Level == isa::avx2 ? 32
                                                                 : 16;

/// What this translation unit may use without asking the CPU. It is a template parameter of every kernel, so units
/// built with different flags don't share a symbol, and code for a newer CPU can't replace the plain one at link time.
inline constexpr isa compiled_isa =
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__FMA__)
    isa::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
    isa::avx2;
#else
    isa::baseline;
#endif

/// Whether the CPU and the operating system can run kernels for `level`. A few loads and tests: no cache is needed.
[[nodiscard, gnu::always_inline]] inline bool cpu_has(isa level) noexcept {
#if defined(__x86_64__) || defined(__i386__)
    switch (level) {
    case isa::avx512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("fma");
    case isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case isa::baseline: return true;
    }
    return false;
#else
    return level == isa::baseline;
#endif
}

} // namespace tally::host::detail
