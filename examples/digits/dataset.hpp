// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The handwritten digits: a strict reader of the CSV file, the split into training and held-out samples, and the rule
// that says which samples of a batch belong to which replica.
// Nothing here depends on the number of replicas except `part`, so every replica count trains on the same batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace digits {

inline constexpr std::size_t num_pixels = 64; ///< 8 x 8, row by row
inline constexpr std::size_t num_classes = 10;
inline constexpr int max_intensity = 16; ///< of a pixel in the file

/// The file can't be used; what() says why in one sentence that begins with the file and, if there is one, the line.
class dataset_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Samples in two parallel arrays: pixels from 0 to 1 (`num_pixels` a sample) and labels from 0 to 9.
struct dataset {
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;

    std::size_t size() const { return labels.size(); }

    /// Adds sample `index` of `other`.
    void append(dataset const& other, std::size_t index);
};

/// Reads lines of 64 pixels (0 ... 16) and a label (0 ... 9), separated by commas. Lines may end with LF or CRLF and
/// the last one with neither; there is no header, and nothing else is tolerated. Throws dataset_error.
dataset read_csv(std::filesystem::path const& file);

/// `samples`, cut in two.
struct split {
    dataset training;
    dataset held_out;
};

/// Sets a fifth of the samples (rounded to nearest, at least one) aside, chosen by the seed alone.
/// Throws std::invalid_argument if there are fewer than two samples.
split hold_out_a_fifth(dataset const& samples, std::uint64_t seed);

/// A range of positions: begin <= end.
struct range {
    std::size_t begin;
    std::size_t end;

    std::size_t size() const { return end - begin; }
};

/// The part of `whole` that replica `rank` of `replicas` works on: contiguous, in rank order, sizes differ by at most
/// one. With more replicas than positions some parts are empty.
range part(range whole, int replicas, int rank);

} // namespace digits
