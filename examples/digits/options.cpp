// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <functional>
#include <iostream>
#include <string>
#include <system_error>

namespace digits {

namespace {

// CLI11's own conversion reads 010 as eight and 0x10 as sixteen; here a number is decimal digits and nothing else.
template <class Number>
void parse_number(char const* option, std::string const& text, Number smallest, Number largest, Number& value) {
    auto const in_words = [](Number number) {
        char digits[32];
        return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    };
    Number parsed{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    // Written so that "nan" fails too.
    bool const in_range = parsed >= smallest && parsed <= largest;
    if (error != std::errc{} || end != text.data() + text.size() || !in_range) {
        throw CLI::ValidationError(option, "expected a number from " + in_words(smallest) + " to " + in_words(largest) +
                                               ", found '" + text + "'");
    }
    value = parsed;
}

// An option that is a number from a range; its initial value is the default that --help shows.
template <class Number>
CLI::Option* add_number(CLI::App& app, char const* option, char const* what, Number smallest, Number largest,
                        Number& value, std::string const& shown_default) {
    std::function<void(std::string const&)> const parse = [=, &value](std::string const& text) {
        parse_number(option, text, smallest, largest, value);
    };
    return app.add_option_function<std::string>(option, parse, what)->type_name("NUMBER")->default_str(shown_default);
}

// The data set in the source tree that this program was built from or, if it was moved away, beside the program.
std::filesystem::path default_data() {
    std::error_code ignored;
#ifdef DIGITS_CSV
    std::filesystem::path const in_source_tree = DIGITS_CSV;
    if (std::filesystem::exists(in_source_tree, ignored)) return in_source_tree;
#endif
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "digits.csv";
}

} // namespace

std::variant<options, int> parse_options(int argc, char const* const* argv) {
    options result;
    std::string output;
    std::string log;
    std::string resume;
    std::string data;

    CLI::App app{"Trains a small network on handwritten digits with several replicas and evaluates it with tally."};
    app.name("digits");
    add_number(app, "--replicas", "threads that share the work", 1, 256, result.replicas, "4");
    add_number(app, "--epochs", "passes over the training samples", 1, 100000, result.epochs, "15");
    auto* const seed = add_number(app, "--seed", "of the weights, the held-out samples and the order of samples",
                                  std::uint64_t{0}, ~std::uint64_t{0}, result.seed, "1");
    auto* const batch = add_number(app, "--batch", "samples of one step, all replicas together", std::size_t{1},
                                   std::size_t{1000000}, result.batch, "64");
    auto* const rate = add_number(app, "--learning-rate", "step size of the gradient descent", 1e-6F, 100.0F,
                                  result.learning_rate, "0.1");
    auto* const output_option =
        app.add_option("--output", output, "folder for the results as CSV files (made if it's missing)");
    output_option->type_name("FOLDER");
    auto* const log_option = app.add_option(
        "--log", log, "folder for TensorBoard logs, one in it for each run (default: log in the folder of --output)");
    log_option->type_name("FOLDER");
    auto* const resume_option =
        app.add_option("--resume", resume, "folder of a run, to go on with it and its log up to --epochs");
    resume_option->type_name("FOLDER")->excludes(seed)->excludes(batch)->excludes(rate)->excludes(log_option);
    auto* const data_option = app.add_option("--data", data, "samples to use instead of the built-in digits");
    data_option->type_name("FILE");

    try {
        app.parse(argc, argv);
        if (output_option->count() > 0 && output.empty()) throw CLI::ValidationError("--output", "expected a folder");
        if (log_option->count() > 0 && log.empty()) throw CLI::ValidationError("--log", "expected a folder");
        if (resume_option->count() > 0 && resume.empty()) throw CLI::ValidationError("--resume", "expected a folder");
        if (data_option->count() > 0 && data.empty()) throw CLI::ValidationError("--data", "expected a file");
    } catch (CLI::CallForHelp const&) {
        std::cout << app.help();
        return 0;
    } catch (CLI::ParseError const& error) {
        std::cerr << "digits: " << error.what() << "\nRun it with --help to see the options.\n";
        return exit_bad_input;
    }
    if (!output.empty()) result.output = output;
    if (!resume.empty()) {
        result.resume = resume;
    } else if (!log.empty()) {
        result.log = log;
    } else if (result.output) {
        result.log = *result.output / "log";
    }
    result.data = data.empty() ? default_data() : std::filesystem::path{data};
    return result;
}

} // namespace digits
