// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/core/fixed_string.hpp>
#include <tally/core/type_name.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

using tally::detail::hasher;

struct with_a_name {
    static constexpr tally::fixed_string name = "a name of its own";
};
template <class T>
struct holder {};

} // namespace

namespace naming {
struct plain {};
} // namespace naming

TEST_CASE("type_name: a type's own name, else the compiler's") {
    CHECK(tally::detail::type_name<with_a_name>() == "a name of its own");
    CHECK(tally::detail::type_name<naming::plain>() == "naming::plain");
    CHECK(tally::detail::type_name<int>() == "int");
    CHECK(tally::detail::type_name<holder<int>>().find("holder<int>") != std::string_view::npos);
}

TEST_CASE("type_spelling: tells template arguments apart") {
    CHECK(tally::detail::type_spelling<holder<int>>() != tally::detail::type_spelling<holder<long>>());
    CHECK(tally::detail::type_spelling<holder<int>>() == tally::detail::type_spelling<holder<int>>());
}

TEST_CASE("hasher: FNV-1a, 64 bits, as published") {
    // The test vectors of Fowler, Noll and Vo for 64 bits, FNV-1a. A text is ended by the byte 0xff.
    CHECK(hasher{}.value() == 0xcbf29ce484222325U);
    auto const reference = [](std::string const& bytes) {
        std::uint64_t hash = 0xcbf29ce484222325U;
        for (char const c : bytes) {
            hash ^= static_cast<unsigned char>(c);
            hash *= 1099511628211U;
        }
        return hash;
    };
    CHECK(reference("a") == 0xaf63dc4c8601ec8cU);
    CHECK(reference("foobar") == 0x85944171f73967e8U);
    CHECK(hasher{}.add(std::string_view{"foobar"}).value() == reference("foobar\xff"));
    CHECK(hasher{}.add(std::uint64_t{0x0807060504030201U}).value() == reference("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST_CASE("hasher: borders between texts count") {
    auto const hash = [](std::string_view a, std::string_view b) { return hasher{}.add(a).add(b).value(); };
    CHECK(hash("ab", "c") != hash("a", "bc"));
    CHECK(hash("a", "") != hash("", "a"));
    CHECK(hash("a", "b") != hash("b", "a"));
}

TEST_CASE("fixed_string: length without the terminator, comparison by characters") {
    constexpr tally::fixed_string text = "loss";
    static_assert(text.view().size() == 4);
    static_assert(text == tally::fixed_string{"loss"});
    static_assert(!(text == tally::fixed_string{"los"}));
    static_assert(tally::fixed_string{""}.view().empty());
    CHECK(text.view() == "loss");
}
