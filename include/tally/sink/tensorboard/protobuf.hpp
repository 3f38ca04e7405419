// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of protobuf's wire format that event files need, for writing: six messages don't pay for a library.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally::tensorboard {

/// Bytes of an unsigned integer, lowest first.
template <class Unsigned>
void append_little_endian(std::string& out, Unsigned value) {
    char bytes[sizeof(Unsigned)];
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
        bytes[i] = static_cast<char>(static_cast<unsigned char>(value >> (8U * i)));
    }
    out.append(bytes, sizeof(Unsigned));
}

/// A serialised message under construction. Fields appear in the order of the calls; each call is O(bytes added).
class message {
public:
    message& integer(unsigned field, std::int64_t value) {
        key(field, 0);
        varint(static_cast<std::uint64_t>(value)); // negative numbers take ten bytes, as protobuf has it
        return *this;
    }
    message& real(unsigned field, double value) {
        key(field, 1);
        append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
        return *this;
    }
    message& single(unsigned field, float value) {
        key(field, 5);
        append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
        return *this;
    }
    /// A string, bytes, or packed numbers.
    message& string(unsigned field, std::string_view value) {
        open(field, value.size());
        bytes_ += value;
        return *this;
    }
    /// The beginning of such a field, whose `size` bytes are to follow.
    message& open(unsigned field, std::size_t size) {
        key(field, 2);
        varint(size);
        return *this;
    }
    message& nested(unsigned field, message const& value) { return string(field, value.bytes_); }

    [[nodiscard]] std::string const& bytes() const { return bytes_; }
    void clear() { bytes_.clear(); }

private:
    void key(unsigned field, unsigned wire_type) { varint(std::uint64_t{field} << 3U | wire_type); }
    void varint(std::uint64_t value) {
        for (; value >= 128; value >>= 7U) {
            bytes_ += static_cast<char>(static_cast<unsigned char>(value | 128U));
        }
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

} // namespace tally::tensorboard
