// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots from anybody: inspect_snapshot and restore_states either refuse a buffer with snapshot_error or give states
// that can be finalized and written again. An input's first byte chooses between a buffer as it is and a valid snapshot
// that the rest of the input edits; its sizes and checksum are then made right again, which random bytes never would be.
#include <tally/host/tracker.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/throughput.hpp>
#include <tally/metric/total.hpp>
#include <tally/metric/value_log_sum_exp.hpp>
#include <tally/metric/variance.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

using bytes = std::vector<std::byte>;

/// Tables of words and of bytes, and accumulators for each of the three lanes.
using fuzzed = tally::collection<
    tally::named<"mean", tally::mean<>>, tally::named<"total", tally::total<std::int64_t>>,
    tally::named<"largest", tally::largest<>>, tally::named<"smallest_at", tally::smallest_at<double>>,
    tally::named<"variance", tally::variance<>>, tally::named<"log_sum_exp", tally::value_log_sum_exp<>>,
    tally::named<"throughput", tally::throughput<>>, tally::named<"confusion", tally::confusion_matrix<>>,
    tally::named<"by_group", tally::grouped<tally::variance<>, 3>>>;
using tracker = tally::host::tracker<fuzzed>;

/// Never freed: the fuzzer ends without running destructors.
tracker const& blank() {
    static auto const* const instance = new tracker{tally::num_classes{3}};
    return *instance;
}

bytes const& valid_snapshot() {
    static auto const* const instance = [] {
        auto t = blank();
        std::int16_t const integers[] = {3, -4, 5, 6};
        int const labels[] = {0, 2, 5, 1};
        double const seconds[] = {0.1, 0.2, 0.3, 0.4};
        t.update(tally::values(integers), tally::positions(100), tally::inputs<"items">(integers),
                 tally::inputs<"seconds">(seconds), tally::predictions(labels), tally::targets(labels),
                 tally::groups(labels));
        return new bytes(tally::snapshot(t.finalize()));
    }();
    return *instance;
}

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// Reads bytes off the input; zeros behind its end.
class reader {
public:
    reader(std::uint8_t const* data, std::size_t size) : data_{data}, left_{size} {}
    [[nodiscard]] bool empty() const { return left_ == 0; }
    std::uint8_t byte() {
        if (left_ == 0) {
            return 0;
        }
        --left_;
        return *data_++;
    }
    std::size_t below(std::size_t limit) {
        std::size_t const high = byte();
        return limit == 0 ? 0 : (high * 256 + byte()) % limit;
    }
    /// Numbers that are hard for sizes, or any.
    std::uint64_t number() {
        switch (byte() % 8) {
        case 0: return 0;
        case 1: return ~std::uint64_t{0};
        case 2: return std::uint64_t{1} << 63;
        case 3: return std::uint64_t{1} << (byte() % 64);
        case 4: return 0 - std::uint64_t{byte()};
        default: {
            std::uint64_t x = 0;
            for (int i = byte() % 9; i > 0; --i) {
                x = x * 256 + byte();
            }
            return x;
        }
        }
    }

private:
    std::uint8_t const* data_;
    std::size_t left_;
};

template <class T>
void put(bytes& buffer, std::size_t offset, T value) {
    if (buffer.size() >= sizeof(T) && offset <= buffer.size() - sizeof(T)) {
        std::memcpy(buffer.data() + offset, &value, sizeof(T));
    }
}

/// `adding_up`: the size of the last lane is set to what is left, as it would be in a snapshot of another shape.
bytes edited_snapshot(reader input, bool adding_up) {
    auto buffer = valid_snapshot();
    constexpr std::size_t header_words = 9;
    while (!input.empty()) {
        switch (input.byte() % 6) {
        case 0: put(buffer, input.below(buffer.size()), input.byte()); break;
        case 1: put(buffer, 8 * input.below(buffer.size() / 8), input.number()); break;
        case 2: put(buffer, 8 * input.below(header_words), input.number()); break;
        case 3: // sizes that still add up: words moved from one lane to the other, or to the bytes
        {
            std::uint64_t lanes[3]; // sums, maxes, bytes
            std::memcpy(lanes, valid_snapshot().data() + 48, sizeof(lanes));
            auto const moved = input.number();
            lanes[0] -= moved;
            (input.byte() % 2 == 0 ? lanes[1] : lanes[2]) += moved;
            if (buffer.size() >= 72) {
                std::memcpy(buffer.data() + 48, lanes, sizeof(lanes));
            }
            break;
        }
        case 4: buffer.resize(input.below(buffer.size() + 100)); break;
        default: buffer.insert(buffer.end(), input.byte(), std::byte{7}); break;
        }
    }
    put(buffer, 16, std::uint64_t{buffer.size()});
    if (adding_up && buffer.size() >= 72) {
        std::uint64_t sizes[3]; // metrics, sums, maxes
        std::memcpy(sizes, buffer.data() + 40, sizeof(sizes));
        put(buffer, 64, buffer.size() - 72 - 64 * sizes[0] - 8 * (sizes[1] + sizes[2]) - 8);
    }
    if (buffer.size() >= sizeof(std::uint64_t)) {
        auto const body = buffer.size() - sizeof(std::uint64_t);
        put(buffer, body, tally::detail::checksum(std::span<std::byte const>(buffer).first(body)));
    }
    return buffer;
}

void check(std::span<std::byte const> buffer) {
    bool intact = false;
    try {
        auto const info = tally::inspect_snapshot(buffer);
        require(info.version == tally::snapshot_version && info.replicas != 0);
        intact = true;
    } catch (tally::snapshot_error const&) {
    }
    try {
        auto t = blank();
        t.restore(buffer);
        require(intact);
        auto const values = t.finalize();
        values.for_each([](auto, auto const&) {});
        auto const again = tally::snapshot(values);
        require(again.size() == buffer.size());
        t.restore(again);
    } catch (tally::snapshot_error const&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0 || data[0] % 4 == 0) {
        std::size_t const skipped = size == 0 ? 0 : 1;
        check(std::as_bytes(std::span(data + skipped, size - skipped)));
    } else {
        auto const buffer = edited_snapshot(reader{data + 1, size - 1}, data[0] % 4 == 1);
        // Exactly as long as it is: the sanitizer sees any read behind the end, which a vector's spare room would hide.
        auto const exact = bytes(buffer.begin(), buffer.end());
        check(exact);
    }
    return 0;
}
