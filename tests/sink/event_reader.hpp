// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A slow reader of event files, written from the description of the format and sharing no code with the writer: what it
// does not expect is a failure of the test.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tally_test {

inline std::uint32_t slow_masked_crc(std::string_view bytes) {
    std::uint32_t crc = 0xffffffff;
    for (char const c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
        }
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

template <class T>
T little_endian(std::string_view bytes) {
    T value{};
    REQUIRE(bytes.size() >= sizeof(T));
    std::memcpy(&value, bytes.data(), sizeof(T)); // tests run on little-endian machines
    return value;
}

/// The payloads of whole records. `torn`: bytes that follow the last of them.
inline std::vector<std::string> records_of(std::string_view file, std::size_t* torn = nullptr) {
    std::vector<std::string> found;
    while (file.size() >= 16) {
        auto const size = little_endian<std::uint64_t>(file);
        REQUIRE(little_endian<std::uint32_t>(file.substr(8)) == slow_masked_crc(file.substr(0, 8)));
        if (file.size() < size + 16) {
            break;
        }
        auto const payload = file.substr(12, size);
        REQUIRE(little_endian<std::uint32_t>(file.substr(12 + size)) == slow_masked_crc(payload));
        found.emplace_back(payload);
        file.remove_prefix(16 + size);
    }
    if (torn != nullptr) {
        *torn = file.size();
    } else {
        REQUIRE(file.empty());
    }
    return found;
}

struct field {
    std::uint64_t integer = 0; ///< of a varint
    std::string bytes;         ///< of anything else
};
using fields = std::multimap<int, field>;

inline fields fields_of(std::string_view message) {
    auto const varint = [&] {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            REQUIRE(!message.empty());
            auto const byte = static_cast<unsigned char>(message.front());
            message.remove_prefix(1);
            value |= std::uint64_t{byte & 127U} << shift;
            if (byte < 128) {
                return value;
            }
        }
    };
    fields found;
    while (!message.empty()) {
        auto const key = varint();
        field next;
        std::size_t size = 0;
        switch (key & 7U) {
        case 0: next.integer = varint(); break;
        case 1: size = 8; break;
        case 2: size = varint(); break;
        case 5: size = 4; break;
        default: FAIL("a wire type that event files don't use");
        }
        REQUIRE(message.size() >= size);
        next.bytes = std::string{message.substr(0, size)};
        message.remove_prefix(size);
        found.emplace(static_cast<int>(key >> 3U), next);
    }
    return found;
}

inline field only(fields const& all, int number) {
    REQUIRE(all.count(number) == 1);
    return all.find(number)->second;
}
inline fields inside(fields const& all, int number) { return fields_of(only(all, number).bytes); }

/// A value of a summary.
struct logged {
    std::int64_t step;
    double wall_time;
    std::string tag;
    std::string plugin; ///< empty where the value has no metadata
    std::vector<double> numbers;
    std::string text;
    bool simple = false;
};

struct log {
    double begun = 0;
    std::int64_t start_step = -1;
    std::size_t events = 0; ///< with values
    std::vector<logged> values;

    [[nodiscard]] std::vector<logged> of(std::string_view tag) const {
        std::vector<logged> found;
        for (auto const& each : values) {
            if (each.tag == tag) {
                found.push_back(each);
            }
        }
        return found;
    }
};

inline logged logged_of(fields const& value) {
    logged out{};
    out.tag = only(value, 1).bytes;
    if (value.count(2) == 1) {
        out.simple = true;
        out.numbers.push_back(static_cast<double>(little_endian<float>(only(value, 2).bytes)));
        return out;
    }
    auto const tensor = inside(value, 8);
    auto const type = only(tensor, 1).integer;
    auto const shape = inside(tensor, 2);
    if (type == 1) {
        REQUIRE(shape.empty());
        out.numbers.push_back(static_cast<double>(little_endian<float>(only(tensor, 5).bytes)));
    } else if (type == 2) {
        std::vector<std::uint64_t> sizes;
        for (auto [dim, end] = shape.equal_range(2); dim != end; ++dim) {
            auto const size = fields_of(dim->second.bytes);
            sizes.push_back(size.count(1) == 1 ? only(size, 1).integer : 0);
        }
        REQUIRE(sizes.size() == 2);
        CHECK(sizes[1] == 3);
        auto const bytes = only(tensor, 4).bytes;
        REQUIRE(bytes.size() == sizes[0] * 24);
        for (std::size_t i = 0; i < bytes.size(); i += 8) {
            out.numbers.push_back(little_endian<double>(std::string_view{bytes}.substr(i)));
        }
    } else {
        REQUIRE(type == 7);
        REQUIRE(shape.empty());
        out.text = only(tensor, 8).bytes;
    }
    if (value.count(9) == 1) {
        auto const metadata = inside(value, 9);
        out.plugin = only(inside(metadata, 1), 1).bytes;
        CHECK(only(metadata, 4).integer == (type == 1 ? 1 : 2));
    }
    return out;
}

/// Checks that the file begins as it must, and reads the rest.
inline log log_of(std::string_view file, std::size_t* torn = nullptr) {
    auto const records = records_of(file, torn);
    REQUIRE(records.size() >= 2);
    auto const version = fields_of(records[0]);
    CHECK(only(version, 3).bytes == "brain.Event:2");
    auto const start = fields_of(records[1]);
    CHECK(only(inside(start, 7), 1).integer == 1);

    log out;
    out.begun = little_endian<double>(only(version, 1).bytes);
    out.start_step = start.count(2) == 1 ? static_cast<std::int64_t>(only(start, 2).integer) : 0;
    for (std::size_t i = 2; i < records.size(); ++i) {
        auto const event = fields_of(records[i]);
        auto const summary = inside(event, 5);
        ++out.events;
        for (auto [value, end] = summary.equal_range(1); value != end; ++value) {
            auto next = logged_of(fields_of(value->second.bytes));
            next.step = event.count(2) == 1 ? static_cast<std::int64_t>(only(event, 2).integer) : 0;
            next.wall_time = little_endian<double>(only(event, 1).bytes);
            out.values.push_back(next);
        }
    }
    return out;
}

} // namespace tally_test
