// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The exceptions of reports and sinks. A caller that wants to train on without a log catches sink_error; a report_error
// is a fault of the program. Neither ever leaves half a report in a file, and no state of a metric has changed.
#pragma once

#include <tally/core/errors.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace tally {

/// A file or folder that can't be written: missing rights, a full disk, another writer that holds it, a log that is
/// already there. The text names the path and the reason of the system.
class sink_error : public error {
public:
    using error::error;
};

/// A report that no sink takes: a step that does not increase, a tag that is no UTF-8, the same tag twice, edges of a
/// histogram that don't ascend. Nothing has been added or written.
class report_error : public error {
public:
    using error::error;
};

namespace detail {

[[noreturn]] inline void throw_sink_error(std::string const& what, std::string const& path, int error_number) {
    throw sink_error(what + " \"" + path + "\": " + std::generic_category().message(error_number));
}

/// The text in quotes; what can't be printed as \xNN.
inline std::string printable(std::string_view text) {
    constexpr char const* hex = "0123456789abcdef";
    std::string out = "\"";
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7e) {
            out += "\\x";
            out += hex[byte >> 4U];
            out += hex[byte & 15U];
        } else {
            out += c;
        }
    }
    return out += '"';
}

} // namespace detail
} // namespace tally
