// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of event files, held to records that TensorBoard's own loaders have read, and to published checksums.
#include <tally/sink/tensorboard/crc32c.hpp>
#include <tally/sink/tensorboard/event.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "event_reader.hpp"

namespace {

namespace tb = tally::tensorboard;

std::string hex(std::string_view bytes) {
    std::string out;
    for (char const c : bytes) {
        constexpr char const* digits = "0123456789abcdef";
        auto const byte = static_cast<unsigned char>(c);
        out += digits[byte / 16];
        out += digits[byte % 16];
    }
    return out;
}

std::string record(tb::message const& event) {
    std::string out;
    tb::append_record(out, event);
    return out;
}

std::string summary_record(double wall_time, tb::message const& value) {
    std::string out;
    tb::append_summary_record(out, wall_time, 7, tb::message{}.nested(1, value));
    return out;
}

} // namespace

TEST_CASE("crc32c: known answers (RFC 3720 B.4, and real records)") {
    std::string ascending;
    std::string descending;
    for (int i = 0; i < 32; ++i) {
        ascending += static_cast<char>(i);
        descending += static_cast<char>(31 - i);
    }
    struct known {
        std::string bytes;
        std::uint32_t crc;
        std::uint32_t masked;
    };
    for (auto const& each :
         {known{std::string(32, '\0'), 0x8a9136aa, 0x0fd7fffa}, known{std::string(32, '\xff'), 0x62a8ab43, 0xf909b029},
          known{ascending, 0x46dd794e, 0x951f7892}, known{descending, 0x113fdb5c, 0x593b0d57},
          known{"123456789", 0xe3069283, 0xc78ab0e5}, known{"", 0, 0xa282ead8}}) {
        CHECK(tb::crc32c(each.bytes) == each.crc);
        CHECK(tb::masked(tb::crc32c(each.bytes)) == each.masked);
    }
    CHECK(tb::masked(tb::crc32c("\x1a\x11"
                                "CRC test, one two")) == 0x5794d08a);
    CHECK(tb::masked(tb::crc32c(std::string("\x18\0\0\0\0\0\0\0", 8))) == 0x224b7fa3);
}

TEST_CASE("crc32c: eight bytes a step give what one bit a step gives, for every length and offset") {
    std::string bytes;
    for (unsigned i = 0; i < 70; ++i) {
        bytes += static_cast<char>(i * 97 % 251);
    }
    for (std::size_t begin = 0; begin < 9; ++begin) {
        for (std::size_t size = 0; begin + size <= bytes.size(); ++size) {
            auto const part = std::string_view{bytes}.substr(begin, size);
            REQUIRE(tb::masked(tb::crc32c(part)) == tally_test::slow_masked_crc(part));
        }
    }
}

TEST_CASE("tensorboard records: golden bytes") {
    CHECK(hex(record(tb::file_version_event(1577836800.5))) ==
          "1800000000000000a37f4b220900002040f882d7411a0d627261696e2e4576656e743a325d9a1f07");
    CHECK(hex(summary_record(1577836801, tb::simple_value("loss", 0.5F))) ==
          "1a00000000000000129bd82d0900004040f882d74110072a0d0a0b0a046c6f7373150000003fe3a83d2b");
    CHECK(hex(summary_record(1577836801, tb::scalar_value("m/acc", 0.75F, true))) ==
          "31000000000000009d8383e90900004040f882d74110072a240a220a056d2f616363420a080112002a040000403f4a0d0a090a07"
          "7363616c61727320019fe2bf1b");
    std::vector<tally::histogram_row> const rows{{-1, 0, 2}, {0, 1, 3}};
    CHECK(hex(summary_record(1577836802, tb::histogram_value("g/w", rows, true))) ==
          "6600000000000000723b876a0900008040f882d74110072a590a570a03672f77423e0802120812020802120208032230000000000000"
          "f0bf000000000000000000000000000000400000000000000000000000000000f03f00000000000008404a100a0c0a0a686973746f"
          "6772616d7320027a0362f9");
}

TEST_CASE("tensorboard records: metadata stand with the first value only, and steps of 0 are left out") {
    auto const later = tb::scalar_value("m/acc", 0.75F, false).bytes();
    CHECK(hex(later) == "0a056d2f616363420a080112002a040000403f");
    auto const start = tally_test::fields_of(tb::session_start_event(1, 0).bytes());
    CHECK(start.count(2) == 0);
    CHECK(tally_test::only(tally_test::fields_of(tb::session_start_event(1, 300).bytes()), 2).integer == 300);
}

TEST_CASE("protobuf: integers of one to ten bytes") {
    CHECK(hex(tb::message{}.integer(1, 0).bytes()) == "0800");
    CHECK(hex(tb::message{}.integer(1, 127).bytes()) == "087f");
    CHECK(hex(tb::message{}.integer(1, 128).bytes()) == "088001");
    CHECK(hex(tb::message{}.integer(16, 300).bytes()) == "8001ac02");
    CHECK(hex(tb::message{}.integer(2, -1).bytes()) == "10ffffffffffffffffff01");
    CHECK(hex(tb::message{}.integer(2, INT64_MAX).bytes()) == "10ffffffffffffffff7f");
}
