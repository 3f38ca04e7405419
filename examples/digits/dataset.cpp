// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "dataset.hpp"

#include "random.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace digits {

namespace {

// Of a bad field in a message: short and printable, whatever the file holds.
std::string quoted(std::string_view text) {
    constexpr std::size_t longest = 20;
    std::string shown = "'";
    for (char c : text.substr(0, longest)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown + (text.size() > longest ? "...'" : "'");
}

// The line being read, for its parsing and for the messages about it.
struct line_reader {
    std::string where; // "digits.csv:17"
    std::string_view text;

    [[noreturn]] void fail(std::string const& what) const { throw dataset_error(where + ": " + what); }

    int number(std::string_view field, std::size_t column, int largest) const {
        int value = 0;
        auto const [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        bool const whole = error == std::errc{} && end == field.data() + field.size();
        if (!whole || value < 0 || value > largest) {
            fail("column " + std::to_string(column) + ": expected a whole number from 0 to " + std::to_string(largest) +
                 ", found " + (field.empty() ? "nothing" : quoted(field)));
        }
        return value;
    }

    void read_into(dataset& samples) const {
        constexpr std::size_t expected = num_pixels + 1;
        std::size_t const found =
            text.empty() ? 0 : static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1;
        if (found != expected) {
            fail("expected " + std::to_string(expected) + " values, found " + std::to_string(found));
        }
        std::string_view rest = text;
        for (std::size_t column = 1; column <= expected; ++column) {
            std::string_view const field = rest.substr(0, rest.find(','));
            if (column < expected) {
                rest.remove_prefix(field.size() + 1);
                samples.pixels.push_back(static_cast<float>(number(field, column, max_intensity)) /
                                         static_cast<float>(max_intensity));
            } else {
                samples.labels.push_back(number(field, column, static_cast<int>(num_classes) - 1));
            }
        }
    }
};

} // namespace

void dataset::append(dataset const& other, std::size_t index) {
    auto const first = other.pixels.begin() + static_cast<std::ptrdiff_t>(index * num_pixels);
    pixels.insert(pixels.end(), first, first + num_pixels);
    labels.push_back(other.labels[index]);
}

dataset read_csv(std::filesystem::path const& file) {
    std::string const name = file.string();
    std::error_code ignored;
    // Opening a folder succeeds on Linux and only reading it fails, without a reason.
    if (std::filesystem::is_directory(file, ignored)) throw dataset_error(name + ": is a folder, not a CSV file");
    errno = 0;
    std::ifstream stream{file, std::ios::binary};
    if (!stream) {
        std::string const reason = errno != 0 ? std::generic_category().message(errno) : "can't be opened";
        throw dataset_error(name + ": " + reason);
    }

    dataset samples;
    std::string line;
    for (std::size_t number = 1; std::getline(stream, line); ++number) {
        if (line.ends_with('\r')) line.pop_back();
        line_reader{name + ":" + std::to_string(number), line}.read_into(samples);
    }
    if (stream.bad()) throw dataset_error(name + ": reading stopped before the end of the file");
    if (samples.size() == 0) throw dataset_error(name + ": is empty");
    return samples;
}

split hold_out_a_fifth(dataset const& samples, std::uint64_t seed) {
    if (samples.size() < 2) {
        throw std::invalid_argument("a training and a held-out part need at least 2 samples, found " +
                                    std::to_string(samples.size()));
    }
    std::size_t const held_out = std::max<std::size_t>(1, (2 * samples.size() + 5) / 10);
    auto const order = permutation(samples.size(), {seed, purpose::held_out_split});
    split result;
    for (std::size_t i = 0; i < order.size(); ++i) {
        (i < held_out ? result.held_out : result.training).append(samples, order[i]);
    }
    return result;
}

range part(range whole, int replicas, int rank) {
    auto const count = static_cast<std::size_t>(replicas);
    auto const index = static_cast<std::size_t>(rank);
    std::size_t const share = whole.size() / count;
    std::size_t const extra = whole.size() % count; // the first `extra` replicas take one more
    std::size_t const begin = whole.begin + index * share + std::min(index, extra);
    return {begin, begin + share + (index < extra ? 1 : 0)};
}

} // namespace digits
