// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/ranking/detail/gather_samples.hpp>

#include <tally/core/errors.hpp>
#include <tally/ranking/ranked_labels.hpp>
#include <tally/ranking/ranking_counts.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using tally::detail::check_headers;
using tally::detail::header_of;
using labels = tally::ranked_labels<>;

TEST_CASE("gather_samples: more samples than a ranking takes are refused before they are sent") {
    tally::ranking_counts counts;
    counts.samples = (1U << 30) - 1;
    std::vector<tally::detail::ranking_header> headers(2, header_of<labels>(counts));
    CHECK_NOTHROW(check_headers(headers)); // 2^31 - 2
    ++headers[1].counts.samples;
    CHECK_NOTHROW(check_headers(headers)); // 2^31 - 1
    ++headers[1].counts.samples;
    std::string text;
    try {
        check_headers(headers);
    } catch (tally::configuration_error const& refused) {
        text = refused.what();
    }
    CHECK(text == "the replicas hold 2147483648 samples together; a ranking takes at most 2147483647");
}

} // namespace
