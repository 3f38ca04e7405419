// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "checkpoint.hpp"

#include "checksum.hpp"
#include "network.hpp"

#include <tally/state/snapshot_file.hpp>

#include <cstring>
#include <span>

namespace digits {

namespace {

constexpr std::uint64_t magic = 0x3130745369676944u; // "DigiSt01", also tells the byte order

/// Appends what it is called with.
class writer {
public:
    template <class T>
    void operator()(T const& value) {
        append(std::as_bytes(std::span{&value, 1}));
    }
    template <class T>
    void operator()(std::vector<T> const& values) {
        (*this)(std::uint64_t{values.size()});
        append(std::as_bytes(std::span{values}));
    }
    void operator()(std::vector<epoch_record> const& records) {
        (*this)(std::uint64_t{records.size()});
        for (auto const& record : records) visit_record(*this, record);
    }

    std::vector<std::byte> bytes;

    template <class Archive, class Record>
    static void visit_record(Archive& archive, Record& record) {
        archive(record.epoch); // field by field: between them may be bytes without a value
        archive(record.held_out);
        archive(record.seconds);
    }

private:
    void append(std::span<std::byte const> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
};

/// Takes the values out again. A number in the file is compared with what is left before it is used.
class reader {
public:
    explicit reader(std::span<std::byte const> bytes) : left_{bytes} {}

    template <class T>
    void operator()(T& value) {
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
    }
    template <class T>
    void operator()(std::vector<T>& values) {
        values.resize(count(sizeof(T)));
        auto const from = take(values.size() * sizeof(T));
        if (!from.empty()) std::memcpy(values.data(), from.data(), from.size());
    }
    void operator()(std::vector<epoch_record>& records) {
        records.resize(count(1));
        for (auto& record : records) writer::visit_record(*this, record);
    }

    bool at_end() const { return left_.empty(); }

private:
    std::size_t count(std::size_t size) {
        std::uint64_t n = 0;
        (*this)(n);
        if (n > left_.size() / size) throw checkpoint_error("is cut off");
        return static_cast<std::size_t>(n);
    }
    std::span<std::byte const> take(std::size_t size) {
        if (size > left_.size()) throw checkpoint_error("is cut off");
        auto const taken = left_.first(size);
        left_ = left_.subspan(size);
        return taken;
    }

    std::span<std::byte const> left_;
};

template <class Archive, class Checkpoint>
void visit(Archive& archive, Checkpoint& of) {
    archive(of.samples);
    archive(of.seed);
    archive(of.batch);
    archive(of.learning_rate);
    archive(of.weights);
    archive(of.velocity);
    archive(of.whole_run);
    archive(of.history);
}

checkpoint parse(std::span<std::byte const> bytes) {
    checkpoint result;
    std::uint64_t found = 0;
    if (bytes.size() < 2 * sizeof found) throw checkpoint_error("is no checkpoint of this program");
    std::memcpy(&found, bytes.data(), sizeof found);
    if (found != magic) throw checkpoint_error("is no checkpoint of this program");
    auto const body = bytes.first(bytes.size() - sizeof found);
    std::memcpy(&found, bytes.data() + body.size(), sizeof found);
    if (found != checksum(body)) throw checkpoint_error("is damaged");
    reader archive{body.subspan(sizeof magic)};
    visit(archive, result);
    if (!archive.at_end() || result.weights.size() != network<float>::num_parameters ||
        result.velocity.size() != result.weights.size() || result.history.empty() || result.batch == 0) {
        throw checkpoint_error("is of another network");
    }
    return result;
}

} // namespace

void write_checkpoint(std::filesystem::path const& file, checkpoint const& from) {
    writer archive;
    archive(magic);
    visit(archive, from);
    archive(checksum(archive.bytes));
    tally::write_snapshot_file(file.string(), archive.bytes);
}

checkpoint read_checkpoint(std::filesystem::path const& file) {
    auto const bytes = tally::read_snapshot_file(file.string());
    try {
        return parse(bytes);
    } catch (checkpoint_error const& error) {
        throw checkpoint_error(file.string() + " " + error.what());
    }
}

} // namespace digits
