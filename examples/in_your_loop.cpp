// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A collection inside somebody else's loop: padded last batch, weights, an epoch end with values for every replica and a
// report by the main one, a snapshot that another number of replicas continues from.
#include <tally/state/snapshot_file.hpp>
#include <tally/tally.hpp>

#include <cstdio>
#include <string_view>
#include <vector>

namespace {

using epoch_metrics =
    tally::collection<tally::named<"loss", tally::weighted<tally::mean<>>>, tally::named<"accuracy", tally::accuracy<>>,
                      tally::named<"worst loss", tally::largest<>>>;

struct batch {
    std::vector<float> losses, weights;
    std::vector<int> predicted, labels;
    std::vector<bool> real; // as loaders give it; a mask wants bytes
};

/// Batches of 4, the last one padded with a copy of its first sample.
batch load(int rank, int step) {
    batch b;
    for (int i = 0; i < 4; ++i) {
        bool const padding = step == 2 && i > 1;
        int const k = padding ? 0 : i;
        b.losses.push_back(0.25F * static_cast<float>(rank + step + k));
        b.weights.push_back(k % 2 == 0 ? 1.0F : 0.5F);
        b.predicted.push_back(k % 3);
        b.labels.push_back(k % 2);
        b.real.push_back(!padding);
    }
    return b;
}

} // namespace

int main() {
    using namespace tally::literals;
    auto const saved = tally::replicas{2}.run([](tally::thread_communicator& comm) {
        // listing-begin
        tally::host::tracker<epoch_metrics> tracker;
        for (int step = 0; step < 3; ++step) {
            auto const b = load(comm.rank(), step);
            std::vector<unsigned char> const real(b.real.begin(), b.real.end());
            tracker.update(tally::values(b.losses), tally::weights(b.weights), tally::predictions(b.predicted),
                           tally::targets(b.labels), tally::mask(real)); // padding counts nowhere
        }
        auto const epoch = tracker.combine(comm); // every replica calls it; all get the values
        if (comm.rank() == 0) {
            epoch.for_each([](std::string_view name, auto value) {
                std::printf("%-11.*s %.4f\n", static_cast<int>(name.size()), name.data(), value.as_double());
            });
            std::printf("%llu samples, %llu masked\n", static_cast<unsigned long long>(epoch.samples()),
                        static_cast<unsigned long long>(epoch.masked()));
        }
        auto const bytes = tracker.snapshot(comm);
        // listing-end
        return bytes;
    });

    tally::write_snapshot_file("epoch.tally", saved[0]);
    auto const bytes = tally::read_snapshot_file("epoch.tally");
    auto const samples = tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        tally::host::tracker<epoch_metrics> tracker;
        tracker.restore(comm, bytes); // saved by 2 replicas, continued by 3
        return tracker.combine(comm).samples();
    });
    std::remove("epoch.tally");
    return samples[2] == 20 ? 0 : 1;
}
