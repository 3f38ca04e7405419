// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Logs of a training over two replicas: combined metrics, once per epoch, in TensorBoard's files and in an exact log.
// Afterwards: tensorboard --logdir runs
#include <tally/sinks.hpp>
#include <tally/tally.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

using evaluation =
    tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"accuracy", tally::accuracy<>>,
                      tally::named<"recall", tally::recall<tally::classes<3>, tally::average::none>>,
                      tally::named<"losses", tally::histogram<tally::linear_bins<20, std::ratio<0>, std::ratio<2>>>>>;

// listing-begin
void train(tally::thread_communicator& comm) {
    auto board = tally::open_on_main<tally::tensorboard::writer>(comm, "runs/first");
    auto exact = tally::open_on_main<tally::json_lines>(comm, "runs/first.jsonl");
    tally::host::tracker<evaluation> tracker;
    for (int epoch = 1; epoch <= 3; ++epoch) {
        tracker.reset();
        for (int step = 0; step < 10; ++step) {
            std::vector<float> const scores{0.1F, 0.3F, 0.2F, 2.0F, 0.5F, 0.1F * static_cast<float>(step * epoch)};
            std::vector<int> const labels{(step + comm.rank()) % 3, 2};
            std::vector<float> const losses{1.0F / static_cast<float>(epoch), 0.1F * static_cast<float>(step)};
            tracker.update(tally::scores(scores.data(), 2, 3), tally::targets(labels), tally::values(losses));
        }
        tally::report page{epoch};
        page.add("train", tracker.combine(comm)).add("learning_rate", 0.1 / epoch);
        board.write(page); // every replica runs these lines; the main one writes
        exact.write(page);
    }
}
// listing-end

int main() {
    std::filesystem::remove_all("runs");
    std::filesystem::create_directory("runs");
    tally::replicas{2}.run(train);
    std::filesystem::directory_iterator const files{"runs/first"};
    std::printf("wrote %s and runs/first.jsonl\n", files->path().string().c_str());
    return std::distance(begin(files), end(files)) == 1 ? 0 : 1;
}
