// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The messages of TensorBoard's event files, as bytes, and the record that frames them. Field numbers are those of
// TensorFlow's event.proto, summary.proto and tensor.proto.
#pragma once

#include <tally/sink/histogram_row.hpp>
#include <tally/sink/tensorboard/crc32c.hpp>
#include <tally/sink/tensorboard/protobuf.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tally::tensorboard {

/// Which part of TensorBoard shows a value. Has to come with the first value of a tag in a file.
struct plugin {
    std::string_view name;
    int data_class; ///< 1 scalar, 2 tensor
};
inline constexpr plugin scalar_plugin{"scalars", 1};
inline constexpr plugin histogram_plugin{"histograms", 2};
inline constexpr plugin text_plugin{"text", 2};

namespace detail {

inline constexpr int type_float = 1;
inline constexpr int type_double = 2;
inline constexpr int type_string = 7;

inline message metadata(plugin of) {
    return message{}.nested(1, message{}.string(1, of.name)).integer(4, of.data_class);
}

inline message value(std::string_view tag, message const& tensor, plugin of, bool first) {
    message out;
    out.string(1, tag).nested(8, tensor);
    if (first) {
        out.nested(9, metadata(of));
    }
    return out;
}

} // namespace detail

/// A Summary.Value: a scalar as a float tensor (TensorFlow 2). `first`: with metadata.
inline message scalar_value(std::string_view tag, float x, bool first) {
    std::string packed;
    append_little_endian(packed, std::bit_cast<std::uint32_t>(x));
    message tensor;
    tensor.integer(1, detail::type_float).nested(2, message{}).string(5, packed);
    return detail::value(tag, tensor, scalar_plugin, first);
}

/// A scalar as simple_value (TensorFlow 1).
inline message simple_value(std::string_view tag, float x) { return message{}.string(1, tag).single(2, x); }

/// A histogram as a double tensor of shape [rows, 3]. Rows as histogram_row says; outer rows should not be empty.
inline message histogram_value(std::string_view tag, std::span<histogram_row const> rows, bool first) {
    static_assert(sizeof(histogram_row) == 3 * sizeof(double));
    std::string content;
    if constexpr (std::endian::native == std::endian::little) {
        content.assign(reinterpret_cast<char const*>(rows.data()), rows.size_bytes()); // rows are their own bytes
    } else {
        for (auto const& row : rows) {
            for (double const x : {row.left, row.right, row.count}) {
                append_little_endian(content, std::bit_cast<std::uint64_t>(x));
            }
        }
    }
    message shape;
    shape.nested(2, message{}.integer(1, static_cast<std::int64_t>(rows.size())));
    shape.nested(2, message{}.integer(1, 3));
    message tensor;
    tensor.integer(1, detail::type_double).nested(2, shape).string(4, content);
    return detail::value(tag, tensor, histogram_plugin, first);
}

/// A text, shown as markdown: a string tensor of rank 0.
inline message text_value(std::string_view tag, std::string_view markdown, bool first) {
    message tensor;
    tensor.integer(1, detail::type_string).nested(2, message{}).string(8, markdown);
    return detail::value(tag, tensor, text_plugin, first);
}

/// Events. Wall times are seconds since 1970; a step of 0 is left out, as protobuf does.
inline message file_version_event(double wall_time) { return message{}.real(1, wall_time).string(3, "brain.Event:2"); }

namespace detail {

inline message event(double wall_time, std::int64_t step) {
    message out;
    out.real(1, wall_time);
    if (step != 0) {
        out.integer(2, step);
    }
    return out;
}

} // namespace detail

/// Says that a process writes from `step` on: what an earlier file of the run holds at it or after it is void.
inline message session_start_event(double wall_time, std::int64_t step) {
    return detail::event(wall_time, step).nested(7, message{}.integer(1, 1));
}

/// Appends a TFRecord: length, masked checksum of the length, payload, masked checksum of the payload. The payload is
/// `event` and then `rest`, which saves a copy of a large field at the end.
inline void append_record(std::string& out, message const& event, std::string_view rest = {}) {
    auto const length = event.bytes().size() + rest.size();
    auto const begin = out.size();
    out.reserve(begin + length + 16);
    append_little_endian(out, static_cast<std::uint64_t>(length));
    append_little_endian(out, masked(crc32c(std::string_view{out}.substr(begin, 8))));
    out += event.bytes();
    out += rest;
    append_little_endian(out, masked(crc32c(std::string_view{out}.substr(begin + 12))));
}

/// Appends the record of an event with a summary, which holds Summary.Values as its fields 1.
inline void append_summary_record(std::string& out, double wall_time, std::int64_t step, message const& summary) {
    append_record(out, detail::event(wall_time, step).open(5, summary.bytes().size()), summary.bytes());
}

} // namespace tally::tensorboard
