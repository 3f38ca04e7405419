// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The inputs of update: predictions(...), targets(...), scores(...) and so on, each from anything that holds numbers:
//
//   a contiguous range (std::vector, std::array, std::span, C array)        predictions(v)       scores(v, columns)
//   a pointer and sizes                                                     predictions(p, n)    scores(p, rows, columns)
//   anything shaped like an mdspan of rank 1 or 2, any strides              predictions(m)       scores(m)
//   a DLPack tensor (DLTensor or DLManagedTensor), any strides              predictions(t)       scores(t)
//
// Strides may be zero or negative too; the data pointer is that of element (0, 0).
//
// An input only refers to the memory. Element-wise inputs may be matrices too, predictions(p, rows, columns): then every
// element is a sample and a vector given beside it (targets, weights, mask) holds one element a row.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/view.hpp>
#include <tally/core/widen.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

namespace tally {

/// An input of update: which one it is, and a view of the user's memory.
template <class Source, class View>
struct given {
    using source = Source;
    using view_type = View;
    View view;
};

namespace detail {

template <class X>
inline constexpr bool is_given_input = false;
template <class Source, class View>
inline constexpr bool is_given_input<given<Source, View>> = true;

template <class X>
concept mdspan_like = requires(X const& x) {
    typename X::element_type;
    { X::rank() } -> std::convertible_to<std::size_t>;
    { x.extent(0) } -> std::convertible_to<std::size_t>;
    { x.stride(0) } -> std::convertible_to<std::size_t>;
    x.data_handle();
};

template <class X>
concept dlpack_like = requires(X const& x) {
    x.data;
    x.ndim;
    x.dtype.code;
    x.dtype.bits;
    x.dtype.lanes;
    x.shape;
    x.strides;
    x.byte_offset;
};

template <class X>
concept dlpack_managed_like = requires(X const& x) {
    x.dl_tensor;
    requires dlpack_like<std::remove_cvref_t<decltype(x.dl_tensor)>>;
};

template <class X>
concept contiguous = requires(X const& x) {
    { std::size(x) } -> std::convertible_to<std::size_t>;
    { *std::data(x) };
};

template <class T>
concept view_like = requires {
    typename T::element_type;
    { T::rank } -> std::convertible_to<std::size_t>;
};

template <class X>
concept brings_sizes = view_like<X> || mdspan_like<X> || dlpack_managed_like<X> || dlpack_like<X>;

/// True for a row of numbers; a string is none.
template <class T>
inline constexpr bool is_row = false;
template <contiguous T>
inline constexpr bool is_row<T> = [] {
    using number = std::remove_cvref_t<decltype(*std::data(std::declval<T const&>()))>;
    return element<number> && !std::is_same_v<number, char>;
}();

template <class T>
consteval bool require_element() {
    if constexpr (is_row<T>) {
        static_assert(!is_row<T>, "tally: a range of ranges is no matrix: use one contiguous buffer, "
                                  "scores(range, columns)");
    } else {
        static_assert(element<T>, "tally: elements of this type are no numbers: specialise tally::widening for them");
    }
    return element<T>;
}

template <class Tensor>
int device_type_of(Tensor const& tensor) {
    int device = 1;
    if constexpr (requires { tensor.device.device_type; }) {
        // Copied, not read: a newer producer may send a number that this program's enumeration does not have.
        auto const& type = tensor.device.device_type;
        static_assert(sizeof(type) == sizeof(device), "tally: the device_type of a DLPack tensor must be of 4 bytes");
        std::memcpy(&device, &type, sizeof(device));
    }
    return device;
}

/// Refuses tensors that can't be read as numbers, with the reason.
template <std::size_t Rank, class Tensor>
dynamic_view<Rank> view_dlpack(Tensor const& tensor) {
    if (static_cast<std::size_t>(tensor.ndim) != Rank) {
        throw shape_error("a DLPack tensor of " + std::to_string(tensor.ndim) + " dimensions was given where " +
                          std::to_string(Rank) + (Rank == 1 ? " is" : " are") + " needed");
    }
    if (tensor.dtype.lanes != 1) {
        throw shape_error("DLPack tensors of vector types (lanes > 1) are not supported");
    }
    dynamic_view<Rank> view{};
    view.device_type = device_type_of(tensor);
    view.type = {static_cast<std::uint8_t>(tensor.dtype.code), static_cast<std::uint8_t>(tensor.dtype.bits)};
    std::ptrdiff_t compact = 1;
    bool empty = false;
    for (std::size_t k = Rank; k-- > 0;) {
        if (tensor.shape[k] < 0) {
            throw shape_error("a DLPack tensor has a negative extent");
        }
        view.size[k] = static_cast<std::size_t>(tensor.shape[k]);
        view.stride[k] = tensor.strides != nullptr ? static_cast<std::ptrdiff_t>(tensor.strides[k]) : compact;
        compact *= static_cast<std::ptrdiff_t>(view.size[k]);
        empty = empty || view.size[k] == 0;
    }
    if (tensor.data == nullptr && !empty) {
        throw shape_error("a DLPack tensor has elements but no data");
    }
    // Data may be null where there are no elements; no offset is added to it then.
    view.data = tensor.data == nullptr ? nullptr : static_cast<char const*>(tensor.data) + tensor.byte_offset;
    // Refuses complex and the like now, not in the middle of an update.
    auto const alignment = with_element_type(view.type, []<class E>() { return alignof(E); });
    if (reinterpret_cast<std::uintptr_t>(view.data) % alignment != 0) {
        throw shape_error("a DLPack tensor of elements of type " + to_string(view.type) + " is not aligned to them");
    }
    return view;
}

template <class T>
auto view_memory(T const* data, std::size_t size) {
    if constexpr (require_element<T>()) {
        return vector_view<T>{data, size, 1};
    } else {
        return refused_view<1>{};
    }
}
template <class T>
auto view_memory(T const* data, std::size_t rows, std::size_t columns) {
    if (columns != 0 && rows > static_cast<std::size_t>(PTRDIFF_MAX) / columns) {
        throw shape_error("a matrix of " + std::to_string(rows) + " x " + std::to_string(columns) +
                          " elements is more than memory holds");
    }
    if constexpr (require_element<T>()) {
        return matrix_view<T>{data, rows, columns, static_cast<std::ptrdiff_t>(columns), 1};
    } else {
        return refused_view<2>{};
    }
}

template <std::size_t Rank, class X>
auto make_view(X const& x) {
    if constexpr (view_like<X>) {
        static_assert(X::rank == Rank,
                      "tally: this input takes a matrix where a vector was given, or the other way round");
        return x;
    } else if constexpr (mdspan_like<X>) {
        using T = std::remove_cv_t<typename X::element_type>;
        constexpr bool fits = X::rank() == Rank;
        static_assert(fits, "tally: an mdspan of another rank was given than this input takes");
        if constexpr (!fits || !require_element<T>()) {
            return refused_view<Rank>{};
        } else if constexpr (Rank == 1) {
            return vector_view<T>{x.data_handle(), static_cast<std::size_t>(x.extent(0)),
                                  static_cast<std::ptrdiff_t>(x.stride(0))};
        } else {
            return matrix_view<T>{x.data_handle(), static_cast<std::size_t>(x.extent(0)),
                                  static_cast<std::size_t>(x.extent(1)), static_cast<std::ptrdiff_t>(x.stride(0)),
                                  static_cast<std::ptrdiff_t>(x.stride(1))};
        }
    } else if constexpr (dlpack_managed_like<X>) {
        return view_dlpack<Rank>(x.dl_tensor);
    } else if constexpr (dlpack_like<X>) {
        return view_dlpack<Rank>(x);
    } else {
        static_assert(contiguous<X>,
                      "tally: an input must be a contiguous range (not std::vector<bool>), a pointer and "
                      "sizes, an mdspan or a DLPack tensor");
        static_assert(Rank == 1 || !contiguous<X>,
                      "tally: a matrix needs its number of columns: scores(range, columns)");
        if constexpr (contiguous<X> && Rank == 1) {
            return view_memory(std::data(x), std::size(x));
        } else {
            return refused_view<Rank>{};
        }
    }
}

template <class X>
inline constexpr bool is_memory = std::is_pointer_v<X> || std::is_array_v<X>;

/// A pointer and sizes. The sizes may not be more than an array holds.
template <class X, std::same_as<std::size_t>... Sizes>
auto view_sized(X const& x, Sizes... sizes) {
    if constexpr (std::is_bounded_array_v<X>) {
        constexpr std::size_t held = std::extent_v<X>;
        std::size_t wanted = 1;
        bool const none = ((sizes == 0) || ...);
        bool const enough = none || ((sizes <= held / wanted && ((wanted *= sizes), true)) && ...);
        if (!enough) {
            std::string shape;
            ((shape += (shape.empty() ? "" : " x ") + std::to_string(sizes)), ...);
            throw shape_error("an array of " + std::to_string(held) + " elements was given a size of " + shape);
        }
    }
    auto const* const data = x;
    return view_memory(data, sizes...);
}

template <contiguous X>
auto view_rows(X const& x, std::size_t columns) {
    auto const size = std::size(x);
    if (columns == 0 ? size != 0 : size % columns != 0) {
        throw shape_error("a matrix of " + std::to_string(columns) + " columns can't have " + std::to_string(size) +
                          " elements");
    }
    return view_memory(std::data(x), columns == 0 ? 0 : size / columns, columns);
}

/// Matrices with rank 2 by their own type are taken as such where vectors are usual.
template <class X>
inline constexpr std::size_t natural_rank = [] {
    if constexpr (view_like<X>) {
        return X::rank;
    } else if constexpr (mdspan_like<X>) {
        return X::rank();
    } else {
        return std::size_t{1};
    }
}();

/// The view that the arguments of an element-wise input mean.
template <class X, class... Sizes>
auto view_elements(X const& x, Sizes... sizes) {
    if constexpr (!require_integers<Sizes...>()) {
        return refused_view<1>{};
    } else if constexpr (sizeof...(Sizes) == 0) {
        return make_view<natural_rank<X>>(x);
    } else {
        constexpr bool sized = is_memory<X> && sizeof...(Sizes) <= 2;
        static_assert(sized,
                      "tally: only a pointer takes sizes here: for a range, write predictions(matrix(range, columns))");
        if constexpr (sized) {
            return view_sized(x, to_size(sizes)...);
        } else {
            return refused_view<2>{};
        }
    }
}

/// The view that the arguments of an input of rows mean.
template <class X, class... Sizes>
auto view_matrix(X const& x, Sizes... sizes) {
    constexpr std::size_t given_sizes = sizeof...(Sizes);
    if constexpr (!require_integers<Sizes...>()) {
        return refused_view<2>{};
    } else if constexpr (is_memory<X> && given_sizes == 2) {
        return view_sized(x, to_size(sizes)...);
    } else if constexpr (std::is_pointer_v<X>) {
        static_assert(given_sizes == 2, "tally: a pointer needs rows and columns: scores(p, rows, columns)");
        return refused_view<2>{};
    } else if constexpr (given_sizes == 0 || !(contiguous<X> || brings_sizes<X>)) {
        return make_view<2>(x);
    } else if constexpr (brings_sizes<X>) {
        static_assert(given_sizes == 0, "tally: an mdspan or a DLPack tensor brings its own sizes: scores(tensor)");
        return refused_view<2>{};
    } else {
        static_assert(given_sizes == 1, "tally: a range takes one size, its number of columns: scores(range, columns)");
        if constexpr (given_sizes == 1) {
            return view_rows(x, to_size(sizes)...);
        } else {
            return refused_view<2>{};
        }
    }
}

template <class Source, class X, class... Sizes>
auto give_elements(X const& x, Sizes... sizes) {
    auto view = view_elements(x, sizes...);
    return given<Source, decltype(view)>{view};
}

template <class Source, class X, class... Sizes>
auto give_matrix(X const& x, Sizes... sizes) {
    auto view = view_matrix(x, sizes...);
    return given<Source, decltype(view)>{view};
}

} // namespace detail

/// A matrix from a range or DLPack tensor for inputs that usually are vectors: predictions(matrix(v, columns)).
/// Sizes here and below throw shape_error if they are negative or more than a C array of known size holds.
template <class X, class... Sizes>
auto matrix(X const& x, Sizes... sizes) {
    return detail::view_matrix(x, sizes...);
}

/// What the model predicted: numbers, probabilities or labels, as the metrics ask for.
template <class X, class... Sizes>
auto predictions(X const& x, Sizes... sizes) {
    return detail::give_elements<source::predictions>(x, sizes...);
}
/// What was right: numbers or labels.
template <class X, class... Sizes>
auto targets(X const& x, Sizes... sizes) {
    return detail::give_elements<source::targets>(x, sizes...);
}
/// Values to aggregate: losses, times, gradients.
template <class X, class... Sizes>
auto values(X const& x, Sizes... sizes) {
    return detail::give_elements<source::values>(x, sizes...);
}
/// One weight a sample (or a matrix element), for weighted<M>. A NaN or infinite weight leaves it out and is counted.
template <class X, class... Sizes>
auto weights(X const& x, Sizes... sizes) {
    return detail::give_elements<source::weights>(x, sizes...);
}
/// Samples that take part: all whose element is not zero. Padding is masked, so it counts nowhere.
template <class X, class... Sizes>
auto mask(X const& x, Sizes... sizes) {
    return detail::give_elements<source::mask>(x, sizes...);
}
/// Group of each sample, for grouped<M, ...>.
template <class X, class... Sizes>
auto groups(X const& x, Sizes... sizes) {
    return detail::give_elements<source::groups>(x, sizes...);
}
/// Global index of each sample, or of the first of consecutive ones.
template <class X, class... Sizes>
auto positions(X const& x, Sizes... sizes) {
    if constexpr (std::integral<X> && sizeof...(Sizes) == 0) {
        if constexpr (std::is_signed_v<X>) {
            if (x < 0) {
                throw shape_error("a position can't be negative, got " + std::to_string(static_cast<std::intmax_t>(x)));
            }
        }
        return given<source::positions, counting_view>{{static_cast<std::uint64_t>(x)}};
    } else {
        return detail::give_elements<source::positions>(x, sizes...);
    }
}
/// An input with a name of your own, for the role input<"name", T>.
template <fixed_string Name, class X, class... Sizes>
auto inputs(X const& x, Sizes... sizes) {
    return detail::give_elements<detail::custom_source<Name>>(x, sizes...);
}
/// Unnormalised scores (logits), one row a sample, one column a class.
template <class X, class... Sizes>
auto scores(X const& x, Sizes... sizes) {
    return detail::give_matrix<source::scores>(x, sizes...);
}
/// Probabilities, one row a sample, one column a class; used as they are, not normalised again.
template <class X, class... Sizes>
auto probabilities(X const& x, Sizes... sizes) {
    return detail::give_matrix<source::probabilities>(x, sizes...);
}

} // namespace tally
