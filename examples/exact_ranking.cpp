// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// AUROC and average precision without bins: the samples are kept, up to a capacity, and ranked once.
#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/ranking/ranked_labels.hpp>
#include <tally/ranking/ranking_buffer.hpp>

#include <cstdio>
#include <vector>

int main() {
    std::vector<float> const scores[]{{.1F, .4F}, {.35F, .8F, .4F}};
    std::vector<int> const labels[]{{0, 0}, {1, 1, 0}}; // replica 0 has one class only

    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        // listing-begin
        tally::host::ranking_buffer<tally::ranked_labels<>> buffer{1'000'000}; // samples; cuda:: on a device
        buffer.update(tally::predictions(scores[comm.rank()]), tally::targets(labels[comm.rank()]));

        auto const all = buffer.combine(comm); // ranks the samples of all replicas; the buffer keeps its own
        auto const area = all.auroc();
        if (comm.rank() == 0) {
            std::printf("AUROC %.4f, average precision %.4f, beyond the capacity: %llu\n", area.value(),
                        all.average_precision().value(), static_cast<unsigned long long>(area.overflow()));
        }
        // listing-end
    });
}
