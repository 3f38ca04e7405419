// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes logs for real_tensorboard.py, which reads them with TensorBoard's own loaders: write_logs FOLDER. Every run
// stands beside a .jsonl file with the same reports, from which the values are known.
#include <tally/sinks.hpp>
#include <tally/tally.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace tb = tally::tensorboard;

using evaluation =
    tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"top1", tally::accuracy<>>,
                      tally::named<"recall", tally::recall<tally::classes<4>, tally::average::none>>,
                      tally::named<"confusion", tally::confusion_matrix<4>>,
                      tally::named<"losses", tally::histogram<tally::linear_bins<40, std::ratio<0>, std::ratio<4>>>>,
                      tally::named<"calibration", tally::calibration_error<>>>;

/// Something like a gradient: two sided, from 1e-8 to 1, in logarithmic cells, with an empty middle and empty ends.
std::vector<tally::histogram_row> gradient_rows(int epoch) {
    std::vector<tally::histogram_row> rows;
    double edge = -64;
    for (int i = 0; i < 24; ++i, edge /= 4) {
        rows.push_back({edge, edge / 4, i < 3 ? 0.0 : 3.0 * i + epoch});
    }
    rows.push_back({edge, -edge, 0});
    edge = -edge;
    for (int i = 24; i > 0; --i, edge *= 4) {
        rows.push_back({edge, edge * 4, i < 4 ? 0.0 : 2.0 * i + 100.0 * epoch});
    }
    return rows;
}

/// Three epochs of two replicas; class 3 is absent, so it has no recall.
void write_epochs(tally::thread_communicator& comm, std::string const& folder, tb::scalar_form scalars) {
    auto log = tally::open_on_main<tb::writer>(comm, folder, tb::options{.scalars = scalars});
    auto exact = tally::open_on_main<tally::json_lines>(comm, folder + ".jsonl");
    tally::host::tracker<evaluation> tracker;
    for (int epoch = 1; epoch <= 3; ++epoch) {
        std::vector<float> scores;
        std::vector<int> labels;
        std::vector<float> losses;
        for (int i = 0; i < 50; ++i) {
            int const label = (i + comm.rank()) % 3;
            labels.push_back(label);
            losses.push_back(static_cast<float>(i % 7) / static_cast<float>(epoch));
            for (int k = 0; k < 4; ++k) {
                scores.push_back(k == (i % 5 < epoch ? label : 1) ? 2.0F : static_cast<float>(k) * 0.25F);
            }
        }
        tracker.reset();
        tracker.update(tally::scores(scores.data(), labels.size(), 4), tally::targets(labels), tally::values(losses));
        tally::report page{epoch};
        page.add("held_out", tracker.combine(comm)).add("rate", 0.1 / epoch).add("seen", std::int64_t{67128463});
        page.add("gradients/encoder.0/weight", gradient_rows(epoch));
        page.add("gradients/frozen/weight", std::vector<tally::histogram_row>{{-1, 0, 0}, {0, 1, 0}});
        page.add("gradients/constant/bias", std::vector<tally::histogram_row>{{0.5, 0.5, 17}});
        page.add("special/nan", std::numeric_limits<double>::quiet_NaN());
        page.add("special/infinity", std::numeric_limits<double>::infinity());
        page.add("special/none", tally::result<double>(tally::reason::no_variance));
        page.add("special/huge", 1e300);
        page.add("special/\xc3\xbc \xe2\x82\xac \\ \"", epoch);
        page.add_text("about", "# Epoch " + std::to_string(epoch) + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
        log.write(page);
        exact.write(page);
    }
}

void write_lives(std::string const& folder) {
    {
        tb::writer log{folder};
        for (int epoch = 1; epoch <= 3; ++epoch) {
            log.write(tally::report{epoch}.add("x", epoch).add("g", gradient_rows(epoch)));
        }
    }
    tb::writer log{folder, {.first_step = 2}};
    for (int epoch = 2; epoch <= 3; ++epoch) {
        log.write(tally::report{epoch}.add("x", 10 * epoch).add("g", gradient_rows(10 * epoch)));
    }
}

/// One life torn in its last record, and one that goes on after it.
void write_torn(std::string const& folder) {
    std::string path;
    {
        tb::writer log{folder};
        path = log.path();
        for (int epoch = 1; epoch <= 3; ++epoch) {
            log.write(tally::report{epoch}.add("x", epoch).add("g", gradient_rows(epoch)));
        }
    }
    fs::resize_file(path, fs::file_size(path) - 50);
    tb::writer log{folder, {.first_step = 3}};
    log.write(tally::report{3}.add("x", 30));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: write_logs FOLDER\n", stderr);
        return 2;
    }
    try {
        std::string const folder{argv[1]};
        fs::remove_all(folder + "/logs");
        tally::replicas{2}.run([&](tally::thread_communicator& comm) {
            write_epochs(comm, folder + "/logs/tf2", tb::scalar_form::tensor);
            write_epochs(comm, folder + "/logs/tf1", tb::scalar_form::simple_value);
        });
        write_lives(folder + "/logs/lives");
        write_torn(folder + "/logs/torn");
    } catch (std::exception const& failed) {
        std::fprintf(stderr, "%s\n", failed.what());
        return 1;
    }
    return 0;
}
