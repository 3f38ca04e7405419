// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The ranking buffer under test: testing::ranking_buffer<Samples>. Compiled with TALLY_TEST_DEVICE_ENGINE (by nvcc) it
// is that of the device, whose updates here take host memory too, so that the bodies of tests are the same for both.
#pragma once

#if defined(TALLY_TEST_DEVICE_ENGINE)
#include "support/device_tracker.cuh"

#include <tally/core/inputs.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/ranking_buffer.cuh>
#include <tally/update/input_set.hpp>
#else
#include <tally/ranking/ranking_buffer.hpp>
#endif

namespace tally::testing {

#if defined(TALLY_TEST_DEVICE_ENGINE)
template <class Samples>
class ranking_buffer : public cuda::ranking_buffer<Samples> {
    using base = cuda::ranking_buffer<Samples>;

public:
    using base::base;

    /// Takes samples in host memory, and waits until they have been taken.
    template <class... Source, class... View>
    void update(given<Source, View> const&... inputs) {
        // Sizes that differ are refused before memory of that size is believed to exist.
        (void)tally::detail::input_set<given<Source, View>...>{inputs...}.samples();
        update_from(input_on_device<given<Source, View>>(inputs)...);
    }

private:
    template <class... Input>
    void update_from(Input const&... inputs) {
        base::update(inputs.get()...);
        cuda::check(cudaStreamSynchronize(base::stream()), "cudaStreamSynchronize", base::stream());
    }
};
#else
template <class Samples>
using ranking_buffer = host::ranking_buffer<Samples>;
#endif

} // namespace tally::testing
