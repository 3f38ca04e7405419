// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The views of an update's inputs as one kernel argument, and how elements are grouped into chunks so that each input can
// be loaded 16 bytes at a time.
#pragma once

#include <tally/config.hpp>
#include <tally/core/inputs.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/view.hpp>
#include <tally/cuda/tuning.hpp>
#include <tally/update/input_set.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

template <std::size_t Index, class View>
struct view_slot {
    View view;
};

template <class Indices, class... Given>
struct view_slots;
template <std::size_t... Index, class... Given>
struct view_slots<std::index_sequence<Index...>, Given...> : view_slot<Index, typename Given::view_type>... {};

/// All views of an update. Trivially copyable.
template <class... Given>
struct input_pack : view_slots<std::index_sequence_for<Given...>, Given...> {
    using sources = type_list<typename Given::source...>;
    using set = tally::detail::input_set<Given...>;
    static constexpr std::size_t size = sizeof...(Given);

    template <class Source>
    static constexpr std::size_t index = tally::detail::index_of_v<sources, Source>;
    template <class Source>
    static constexpr bool has = tally::detail::contains_v<sources, Source>;

    template <std::size_t Index>
    [[nodiscard]] TALLY_HD constexpr auto const& at() const {
        return get<Index>(*this);
    }
    template <class Source>
    [[nodiscard]] TALLY_HD constexpr auto const& view() const {
        return at<index<Source>>();
    }

private:
    template <std::size_t Index, class View>
    TALLY_HD static constexpr View const& get(view_slot<Index, View> const& slot) {
        return slot.view;
    }
};

/// Bytes of an element where known at compile time, else 0: such inputs are loaded element by element.
template <class View>
inline constexpr std::size_t element_bytes = sizeof(typename View::element_type);
template <>
inline constexpr std::size_t element_bytes<counting_view> = 0;
template <std::size_t Rank>
inline constexpr std::size_t element_bytes<dynamic_view<Rank>> = 0;

/// How a thread takes its samples: `chunks` runs of `chunk` consecutive ones.
struct tile_shape {
    int chunk;
    int chunks;
    [[nodiscard]] TALLY_HD constexpr int items() const { return chunk * chunks; }
};

/// The chunk is as long as 16 bytes of the narrowest input; as many chunks as bytes_in_flight and most_items allow.
template <class... Given>
TALLY_HD constexpr tile_shape shape_of_tile(tuning const& chosen, input_pack<Given...> const&) {
    std::size_t narrowest = 16;
    std::size_t bytes = 0;
    auto const look = [&](std::size_t size, bool in_memory) {
        bytes += size == 0 && in_memory ? 8 : size;
        narrowest = size != 0 && size < narrowest ? size : narrowest;
    };
    (look(element_bytes<typename Given::view_type>, !std::is_same_v<typename Given::view_type, counting_view>), ...);
    int chunk = narrowest == 16 ? 1 : static_cast<int>(16 / narrowest);
    while (chunk > chosen.most_items) {
        chunk /= 2;
    }
    int chunks = chosen.bytes_in_flight / (chunk * static_cast<int>(bytes == 0 ? 1 : bytes));
    while (chunks > 1 && chunk * chunks > chosen.most_items) {
        --chunks;
    }
    return {chunk, chunks < 1 ? 1 : chunks};
}

} // namespace tally::cuda::detail
