// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// inputs: which memory a view of them refers to, and what is refused at once.
#include <tally/core/inputs.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>
#include <support/strided.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tally::testing::dlpack_tensor;
using tally::testing::float32;
using tally::testing::strided;

template <class Input>
bool is_vector_of(Input const& input, void const* data, std::size_t size, std::ptrdiff_t stride = 1) {
    return input.view.data == data && input.view.size == size && input.view.stride == stride;
}

template <class Input>
bool is_matrix_of(Input const& input, void const* data, std::size_t rows, std::size_t columns,
                  std::ptrdiff_t row_stride, std::ptrdiff_t column_stride) {
    return input.view.data == data && input.view.rows == rows && input.view.columns == columns &&
           input.view.row_stride == row_stride && input.view.column_stride == column_stride;
}

float const numbers[6] = {1, 2, 3, 4, 5, 6};

} // namespace

TEST_CASE("inputs: contiguous ranges, const or not") {
    std::vector<float> vector{1, 2, 3};
    std::array<double, 4> const array{};
    std::span<std::int8_t const> const span{};
    int c_array[5] = {};
    CHECK(is_vector_of(tally::values(vector), vector.data(), 3));
    CHECK(is_vector_of(tally::values(std::as_const(vector)), vector.data(), 3));
    CHECK(is_vector_of(tally::targets(array), array.data(), 4));
    CHECK(is_vector_of(tally::targets(span), nullptr, 0));
    CHECK(is_vector_of(tally::groups(c_array), c_array, 5));
    static_assert(std::is_same_v<decltype(tally::values(vector))::view_type, tally::vector_view<float>>);
    static_assert(std::is_same_v<decltype(tally::targets(array))::view_type, tally::vector_view<double>>);
    static_assert(std::is_same_v<decltype(tally::groups(c_array))::source, tally::source::groups>);
}

TEST_CASE("inputs: a pointer and sizes") {
    CHECK(is_vector_of(tally::weights(numbers, 6), numbers, 6));
    CHECK(is_vector_of(tally::weights(numbers, std::uint8_t{6}), numbers, 6));
    CHECK(is_matrix_of(tally::scores(numbers, 2, 3), numbers, 2, 3, 3, 1));
    CHECK(is_matrix_of(tally::predictions(numbers, 3, 2), numbers, 3, 2, 2, 1));
    float const* const nowhere = nullptr;
    CHECK(is_vector_of(tally::values(nowhere, 0), nullptr, 0));
}

TEST_CASE("inputs: a range and its number of columns") {
    std::vector<float> const flat(12);
    CHECK(is_matrix_of(tally::scores(flat, 4), flat.data(), 3, 4, 4, 1));
    CHECK(is_matrix_of(tally::probabilities(numbers, 6), numbers, 1, 6, 6, 1));
    CHECK(is_matrix_of(tally::predictions(tally::matrix(flat, 3)), flat.data(), 4, 3, 3, 1));
    CHECK(is_matrix_of(tally::targets(tally::matrix(numbers, 2, 3)), numbers, 2, 3, 3, 1));
    CHECK_THROWS_WITH_AS((void)tally::scores(flat, 5), "a matrix of 5 columns can't have 12 elements",
                         tally::shape_error);
    CHECK_THROWS_AS((void)tally::scores(flat, 0), tally::shape_error);
    std::vector<float> const none;
    CHECK(is_matrix_of(tally::scores(none, 4), none.data(), 0, 4, 4, 1));
    CHECK(is_matrix_of(tally::scores(none, 0), none.data(), 0, 0, 0, 1));
}

TEST_CASE("inputs: what is shaped like an mdspan, with its own strides") {
    std::vector<double> memory(40);
    strided<double, 1> const vector{memory.data() + 39, {10}, {-4}};
    CHECK(is_vector_of(tally::values(vector), memory.data() + 39, 10, -4));
    strided<double const, 2> const column_major{memory.data(), {8, 5}, {1, 8}};
    CHECK(is_matrix_of(tally::scores(column_major), memory.data(), 8, 5, 1, 8));
    CHECK(
        is_matrix_of(tally::predictions(column_major), memory.data(), 8, 5, 1, 8)); // a matrix where vectors are usual
    strided<double, 2> const broadcast{memory.data(), {100, 5}, {0, 1}};
    CHECK(is_matrix_of(tally::values(broadcast), memory.data(), 100, 5, 0, 1));
    static_assert(std::is_same_v<decltype(tally::scores(column_major))::view_type, tally::matrix_view<double>>);
}

TEST_CASE("inputs: positions are consecutive numbers from the first, or one each") {
    CHECK(tally::positions(17).view.first == 17);
    CHECK(tally::positions(~std::uint64_t{0}).view.first == ~std::uint64_t{0});
    std::vector<std::uint64_t> const each{5, 3};
    CHECK(is_vector_of(tally::positions(each), each.data(), 2));
}

TEST_CASE("inputs: a DLPack tensor, as it is or managed") {
    dlpack_tensor<1> vector{numbers, float32, {6}};
    auto const view = tally::values(vector.get()).view;
    CHECK(view.data == static_cast<void const*>(numbers));
    CHECK(view.size[0] == 6);
    CHECK(view.stride[0] == 1);
    CHECK(view.type == tally::dynamic_type{2, 32});

    DLManagedTensor managed{};
    dlpack_tensor<2> matrix{numbers, float32, {2, 3}};
    managed.dl_tensor = matrix.get();
    auto const rows = tally::scores(managed).view;
    CHECK(rows.size[0] == 2);
    CHECK(rows.size[1] == 3);
    CHECK(rows.stride[0] == 3);
    CHECK(rows.stride[1] == 1);

    dlpack_tensor<2> transposed{numbers, float32, {3, 2}, {1, 3}};
    transposed.get().byte_offset = 0;
    auto const columns = tally::predictions(tally::matrix(transposed.get())).view;
    CHECK(columns.size[0] == 3);
    CHECK(columns.stride[0] == 1);
    CHECK(columns.stride[1] == 3);
}

TEST_CASE("inputs: DLPack's byte_offset counts bytes from the data") {
    dlpack_tensor<1> tail{numbers, float32, {4}};
    tail.get().byte_offset = 2 * sizeof(float);
    CHECK(tally::values(tail.get()).view.data == static_cast<void const*>(numbers + 2));
    tail.get().byte_offset = 2;
    CHECK_THROWS_WITH_AS((void)tally::values(tail.get()),
                         "a DLPack tensor of elements of type float32 is not aligned to them", tally::shape_error);
}

TEST_CASE("inputs: DLPack tensors of no elements may have no data") {
    dlpack_tensor<1> none{nullptr, float32, {0}};
    none.get().byte_offset = 64;
    CHECK(tally::values(none.get()).view.data == nullptr);
    dlpack_tensor<2> no_rows{nullptr, float32, {0, 5}};
    CHECK(tally::scores(no_rows.get()).view.size[1] == 5);
    dlpack_tensor<2> no_columns{nullptr, float32, {5, 0}};
    CHECK(tally::scores(no_columns.get()).view.size[0] == 5);
    dlpack_tensor<1> some{nullptr, float32, {1}};
    CHECK_THROWS_WITH_AS((void)tally::values(some.get()), "a DLPack tensor has elements but no data",
                         tally::shape_error);
}

TEST_CASE("inputs: DLPack tensors in device memory are refused by the host engine, those that it can read are taken") {
    for (int device = 0; device < 20; ++device) {
        dlpack_tensor<1> tensor{numbers, float32, {6}};
        std::memcpy(&tensor.get().device.device_type, &device, sizeof(device)); // some are not in the enumeration
        bool const readable =
            device == kDLCPU || device == kDLCUDAHost || device == kDLROCMHost || device == kDLCUDAManaged;
        CAPTURE(device);
        tally::host::tracker<tally::mean<>> tracker;
        CHECK_NOTHROW((void)tally::values(tensor.get())); // another engine may read it
        if (readable) {
            CHECK_NOTHROW(tracker.update(tally::values(tensor.get())));
        } else {
            CHECK_THROWS_WITH_AS(tracker.update(tally::values(tensor.get())),
                                 ("a DLPack tensor of device type " + std::to_string(device) +
                                  " lies in device memory; the host engine reads host memory")
                                     .c_str(),
                                 tally::shape_error);
        }
    }
}

TEST_CASE("inputs: DLPack tensors of the wrong shape or type are refused with the reason") {
    auto const refuse = [](DLTensor const& tensor, char const* reason) {
        CHECK_THROWS_WITH_AS((void)tally::values(tensor), reason, tally::shape_error);
    };
    dlpack_tensor<2> matrix{numbers, float32, {2, 3}};
    refuse(matrix.get(), "a DLPack tensor of 2 dimensions was given where 1 is needed");
    dlpack_tensor<1> vector{numbers, float32, {6}};
    CHECK_THROWS_WITH_AS((void)tally::scores(vector.get()),
                         "a DLPack tensor of 1 dimensions was given where 2 are needed", tally::shape_error);
    vector.get().ndim = 0;
    refuse(vector.get(), "a DLPack tensor of 0 dimensions was given where 1 is needed");
    dlpack_tensor<1> negative{numbers, float32, {-1}};
    refuse(negative.get(), "a DLPack tensor has a negative extent");
    dlpack_tensor<1> lanes{numbers, {kDLFloat, 32, 2}, {3}};
    refuse(lanes.get(), "DLPack tensors of vector types (lanes > 1) are not supported");
    dlpack_tensor<1> complex{numbers, {kDLComplex, 64, 1}, {3}};
    refuse(complex.get(), "elements of type complex64 are not supported");
    dlpack_tensor<1> opaque{numbers, {kDLOpaqueHandle, 64, 1}, {3}};
    refuse(opaque.get(), "elements of type opaque64 are not supported");
    dlpack_tensor<1> narrow{numbers, {kDLInt, 4, 1}, {3}};
    refuse(narrow.get(), "elements of type int4 are not supported");
    dlpack_tensor<1> wide{numbers, {kDLFloat, 128, 1}, {1}};
    refuse(wide.get(), "elements of type float128 are not supported");
    dlpack_tensor<1> unknown{numbers, {17, 8, 1}, {3}};
    refuse(unknown.get(), "elements of type code 17, bits 8 are not supported");
}
