// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// In the programs of host tests that run on the device engine: a file whose cases launch no kernel has run on the host
// after all and shows nothing. Seen on vgpu, which counts launches.
#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <string>

#if __has_include(<vgpu.h>)
#include <vgpu.h>

namespace {

bool on_vgpu() { return vgpu_present != nullptr && vgpu_present() != 0; }

unsigned long long launches() {
    unsigned long long count = 0;
    return vgpu_stats_get("", "launches", &count) != 0 ? count : 0;
}

class launch_watch : public doctest::IReporter {
public:
    explicit launch_watch(doctest::ContextOptions const&) {}

    void test_case_start(doctest::TestCaseData const& test) override {
        file_ = test.m_file.c_str();
        before_ = on_vgpu() ? launches() : 0;
    }

    void test_case_end(doctest::CurrentTestCaseStats const&) override {
        if (on_vgpu()) {
            launched_[file_] = launched_[file_] || launches() != before_;
        }
    }

    // The test run fails on this line (cmake/device_tests.cmake); a listener can't fail a run itself.
    void test_run_end(doctest::TestRunStats const&) override {
        for (auto const& [file, launched] : launched_) {
            if (!launched) {
                std::fprintf(stderr, "no kernel was launched by the cases of %s\n", file.c_str());
            }
        }
    }

    void report_query(doctest::QueryData const&) override {}
    void test_run_start() override {}
    void test_case_reenter(doctest::TestCaseData const&) override {}
    void test_case_exception(doctest::TestCaseException const&) override {}
    void subcase_start(doctest::SubcaseSignature const&) override {}
    void subcase_end() override {}
    void log_assert(doctest::AssertData const&) override {}
    void log_message(doctest::MessageData const&) override {}
    void test_case_skipped(doctest::TestCaseData const&) override {}

private:
    std::string file_;
    unsigned long long before_ = 0;
    std::map<std::string, bool> launched_;
};

} // namespace

DOCTEST_REGISTER_LISTENER("launch_watch", 1, launch_watch);
#endif
