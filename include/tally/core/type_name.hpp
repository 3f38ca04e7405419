// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Names of types for messages, and spellings of types for the layout hash. Compilers print types differently (default
// arguments, spaces), so the hash takes the mangled name, which the Itanium C++ ABI fixes for all of them.
#pragma once

#include <tally/core/fixed_string.hpp>

#include <cstdint>
#include <string_view>
#if defined(__cpp_rtti) || defined(__GXX_RTTI)
#include <typeinfo>
#endif

namespace tally::detail {

/// For people: T::name if T has one, else what the compiler calls it.
template <class T>
constexpr std::string_view type_name() {
    if constexpr (requires { T::name.view(); }) {
        return T::name.view();
    } else {
        std::string_view const text = __PRETTY_FUNCTION__;
        auto const begin = text.find("T = ") + 4;
        auto const end = text.find(text.find(';', begin) != std::string_view::npos ? ';' : ']', begin);
        auto const last = text.rfind(']');
        return text.substr(begin, (text[end] == ';' ? end : last) - begin);
    }
}

/// For the layout hash: names every template argument, defaults included. Without run-time type information it falls
/// back to the compiler's own spelling; then all replicas must be built by the same compiler.
template <class T>
std::string_view type_spelling() {
#if defined(__cpp_rtti) || defined(__GXX_RTTI)
    return typeid(T).name();
#else
    return __PRETTY_FUNCTION__;
#endif
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): small, constexpr, no security meant.
class hasher {
public:
    constexpr hasher& add(std::string_view text) {
        for (char const c : text) {
            byte(static_cast<unsigned char>(c));
        }
        byte(0xff); // ends the text, so that "ab" + "c" differs from "a" + "bc"
        return *this;
    }
    constexpr hasher& add(std::uint64_t word) {
        for (int shift = 0; shift < 64; shift += 8) {
            byte(static_cast<unsigned char>(word >> shift));
        }
        return *this;
    }
    [[nodiscard]] constexpr std::uint64_t value() const { return hash_; }

private:
    constexpr void byte(unsigned char b) { hash_ = (hash_ ^ b) * 0x100000001b3ULL; }

    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

} // namespace tally::detail
