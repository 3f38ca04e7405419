// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// report: which entries a value becomes, and what a report refuses without being changed.
#include <tally/layout/logarithmic_bins.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/report_metrics.hpp>
#include <tally/tally.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace {

using tally::reason;
using tally::report;
using number = report::number;

std::vector<std::string> tags(report const& page) {
    std::vector<std::string> found;
    for (auto const& entry : page.entries()) {
        found.push_back(entry.tag);
    }
    return found;
}

template <class T>
T const& get(report const& page, std::string_view tag) {
    for (auto const& entry : page.entries()) {
        if (entry.tag == tag) {
            REQUIRE(std::holds_alternative<T>(entry.content));
            return std::get<T>(entry.content);
        }
    }
    FAIL("no entry of this tag");
    throw 0;
}

/// The values of one replica that has seen these inputs.
template <class M, class... Given>
tally::combined<M> combined_of(Given const&... inputs) {
    tally::host::tracker<M> tracker;
    tracker.update(inputs...);
    tally::self_communicator comm;
    return tracker.combine(comm);
}

template <class T>
concept has_rule = requires(report& page, T const& value) { report_value(page, std::string_view{}, value); };

} // namespace

namespace own {

struct temperature {
    double celsius;
};
void report_value(tally::report& page, std::string_view tag, temperature const& value) { page.put(tag, value.celsius); }

struct broken {};
void report_value(tally::report& page, std::string_view tag, broken const&) {
    page.add(std::string{tag} + "/list", std::vector<tally::result<double>>{1.0, 2.0});
    page.put_absent("somewhere");
    page.add("taken", 1);
}

} // namespace own

TEST_CASE("report: numbers keep their kind and all their digits") {
    report page{3, 1e9};
    page.add("int", -5).add("uint", std::numeric_limits<std::uint64_t>::max()).add("double", 0.1).add("float", 0.1F);
    page.add("bool", true).add("none", tally::result<float>(reason::absent_class));
    CHECK(get<number>(page, "int") == number{std::int64_t{-5}});
    CHECK(get<number>(page, "uint") == number{std::numeric_limits<std::uint64_t>::max()});
    CHECK(get<number>(page, "double") == number{0.1});
    CHECK(get<number>(page, "float") == number{static_cast<double>(0.1F)});
    CHECK(get<number>(page, "bool") == number{std::uint64_t{1}});
    CHECK(get<number>(page, "none") == number{reason::absent_class});
    CHECK(page.step() == 3);
    CHECK(page.wall_time() == 1e9);
}

TEST_CASE("report: a result brings what it dropped, a bracket its bounds") {
    report page{0};
    page.add("a", tally::result<double>(0.5).with_dropped(3));
    page.add("b", tally::bracketed(0.5, 0.25, 0.75).with_dropped(1)).add("c", tally::bracketed(reason::single_class));
    CHECK(tags(page) == std::vector<std::string>{"a", "a/dropped", "b", "b/dropped", "b/lower", "b/upper", "c"});
    CHECK(get<number>(page, "a/dropped") == number{std::uint64_t{3}});
    CHECK(get<number>(page, "b/upper") == number{0.75});
    CHECK(get<number>(page, "c") == number{reason::single_class});
}

TEST_CASE("report: a collection is reported under the names of its metrics") {
    using evaluation = tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"least", tally::smallest<>>>;
    std::vector<float> const x{1, 2, 3, 6};
    std::vector<bool> const padded{true, true, true, false};
    auto const results = combined_of<evaluation>(tally::values(x));
    report page{0};
    page.add("train", results).add("slash/", results).add("", results);
    CHECK(tags(page) == std::vector<std::string>{"train/loss", "train/least", "train/samples/taken", "slash/loss",
                                                 "slash/least", "slash/samples/taken", "loss", "least",
                                                 "samples/taken"});
    CHECK(get<number>(page, "train/loss") == number{3.0});
    CHECK(get<number>(page, "train/samples/taken") == number{std::uint64_t{4}});
}

TEST_CASE("report: a single metric is reported under the tag itself; without one there is no name") {
    std::vector<float> const x{1, 2};
    auto const results = combined_of<tally::mean<>>(tally::values(x));
    report page{0};
    page.add("loss", results);
    CHECK(get<number>(page, "loss") == number{1.5});
    CHECK_THROWS_AS(page.add("", results), tally::report_error);
}

TEST_CASE("report: values of one replica only have no rule") {
    CHECK(has_rule<tally::combined<tally::mean<>>>);
    CHECK_FALSE(has_rule<tally::local<tally::mean<>>>);
    CHECK_FALSE(has_rule<tally::results<tally::mean<>>>);
}

TEST_CASE("report: results that another replica holds are remembered as absent") {
    report page{0};
    page.add("train", std::optional<tally::combined<tally::mean<>>>{});
    CHECK(page.entries().empty());
    CHECK(page.absent() == std::vector<std::string>{"train"});
    std::vector<float> const x{1, 2};
    page.add("held_out", std::optional{combined_of<tally::mean<>>(tally::values(x))});
    CHECK(get<number>(page, "held_out") == number{1.5});
}

TEST_CASE("report: per-class values and brackets become series") {
    report page{0};
    page.add("recall", std::vector<tally::result<double>>{tally::result<double>(0.5).with_dropped(2),
                                                          tally::result<double>(reason::absent_class).with_dropped(2)});
    page.add("auroc", std::vector<tally::bracketed>{{0.5, 0.25, 0.75}, {reason::absent_class}});
    CHECK(tags(page) == std::vector<std::string>{"recall", "recall/dropped", "auroc", "auroc/lower", "auroc/upper"});
    auto const& recall = get<report::series>(page, "recall");
    CHECK(recall.label == "class_");
    CHECK(recall.values == std::vector<number>{0.5, reason::absent_class});
    CHECK(get<number>(page, "recall/dropped") == number{std::uint64_t{2}});
    CHECK(get<report::series>(page, "auroc/upper").values == std::vector<number>{0.75, reason::absent_class});
}

TEST_CASE("report: groups become a series, or one entry each where they are no single numbers") {
    report page{0};
    page.add("rmse",
             tally::grouped_values<tally::result<double>>{{1.0, tally::result<double>(2.0).with_dropped(1)}, 4});
    page.add("least", tally::grouped_values<tally::value_at<float>>{{{1.5F, std::uint64_t{7}}}, 0});
    CHECK(tags(page) ==
          std::vector<std::string>{"rmse", "rmse/dropped", "rmse/outside", "least/0/value", "least/0/position"});
    CHECK(get<report::series>(page, "rmse").values == std::vector<number>{1.0, 2.0});
    CHECK(get<report::series>(page, "rmse").label.empty());
    CHECK(get<number>(page, "rmse/outside") == number{std::uint64_t{4}});
    CHECK(get<number>(page, "least/0/position") == number{std::uint64_t{7}});
}

TEST_CASE("report: bins without a bound become rows only where they hold something") {
    using bins = tally::logarithmic_bins<1>;
    using sizes = tally::histogram<bins>;
    auto const rows_of = [](std::vector<float> const& x) {
        report page{0};
        page.add("sizes", combined_of<sizes>(tally::values(x)));
        return get<report::histogram>(page, "sizes");
    };
    auto const usual = rows_of({1.0F, -2.0F, 0.0F});
    CHECK(usual.size() == bins::bins - 2);
    CHECK(usual.front().left == bins::edge(1));
    CHECK(usual.back().right == bins::edge(bins::bins - 1));
    double total = 0;
    for (auto const& row : usual) {
        total += row.count;
    }
    CHECK(total == 3);
    // What lies outside of the exponents of the bins is not lost.
    using narrow = tally::logarithmic_bins<0, -3, 3>;
    report page{0};
    page.add("sizes", combined_of<tally::histogram<narrow>>(tally::values(std::vector<float>{100.0F, -1.0F})));
    auto const& wide = get<report::histogram>(page, "sizes");
    CHECK(wide.size() == narrow::bins - 1);
    CHECK(wide.back().right == std::numeric_limits<double>::max());
    CHECK(wide.back().count == 1);
}

TEST_CASE("report: a histogram of values with nothing in range is zero counts, and the rest is counted beside it") {
    std::vector<float> const nans(8, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> const far{1e30F, -1e30F, -1e30F};
    using counts = tally::histogram<tally::linear_bins<2, std::ratio<-1>, std::ratio<1>>>;
    report page{0};
    page.add("nan", combined_of<counts>(tally::values(nans))).add("far", combined_of<counts>(tally::values(far)));
    CHECK(get<report::histogram>(page, "nan") == report::histogram{{-1, 0, 0}, {0, 1, 0}});
    CHECK(get<number>(page, "nan/nans") == number{std::uint64_t{8}});
    CHECK(get<number>(page, "far/below") == number{std::uint64_t{2}});
    CHECK(get<number>(page, "far/above") == number{std::uint64_t{1}});
}

TEST_CASE("report: matrices, diagrams and curves become grids") {
    std::vector<float> const p{0.1F, 0.6F, 0.9F};
    std::vector<int> const y{0, 1, 1};
    std::vector<int> const guess{0, 1, 5};
    report page{0};
    page.add("confusion", combined_of<tally::confusion_matrix<2>>(tally::predictions(guess), tally::targets(y)));
    page.add("diagram", combined_of<tally::binary_reliability_diagram<2>>(tally::predictions(p), tally::targets(y)));
    page.add("roc", combined_of<tally::roc_curve<>>(tally::predictions(p), tally::targets(y)));
    page.add("no_roc", combined_of<tally::roc_curve<>>(tally::predictions(p.data(), 1), tally::targets(y.data(), 1)));

    auto const& confusion = get<report::grid>(page, "confusion");
    CHECK(confusion.label == "true_");
    CHECK(confusion.columns == std::vector<std::string>{"predicted_0", "predicted_1"});
    CHECK(confusion.cells ==
          std::vector<number>{std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}});
    CHECK(get<number>(page, "confusion/outside") == number{std::uint64_t{1}});
    auto const& diagram = get<report::grid>(page, "diagram");
    CHECK(diagram.columns.size() == 5);
    CHECK(diagram.cells.size() == 10);
    CHECK(diagram.cells[2] == number{1.0});
    CHECK(diagram.cells[7] == number{2.0});
    auto const& roc = get<report::grid>(page, "roc");
    CHECK(roc.columns == std::vector<std::string>{"threshold", "false_positive_rate", "true_positive_rate"});
    CHECK(roc.cells.front() == number{std::numeric_limits<double>::infinity()});
    CHECK(roc.cells.back() == number{1.0});
    CHECK(get<number>(page, "no_roc") == number{reason::single_class});
}

TEST_CASE("report: a type of one's own is reported by the rule beside it") {
    report page{0};
    page.add("room", own::temperature{21.5});
    CHECK(get<number>(page, "room") == number{21.5});
}

TEST_CASE("report: an add that fails leaves nothing behind") {
    report page{0};
    page.add("taken", 0);
    CHECK_THROWS_WITH_AS(page.add("own", own::broken{}), "the tag \"taken\" is used twice in the report of step 0",
                         tally::report_error);
    CHECK(tags(page) == std::vector<std::string>{"taken"});
    CHECK(page.absent().empty());
    page.add("own/list/class_1", 1); // neither are the names of the list
    CHECK(page.entries().size() == 2);
}

TEST_CASE("report: names of a list's elements are taken too") {
    report page{0};
    page.add("recall/class_1", 1);
    CHECK_THROWS_AS(page.add("recall", std::vector<tally::result<double>>{1.0, 2.0}), tally::report_error);
    page.add("recall", std::vector<tally::result<double>>{1.0});
    CHECK_THROWS_AS(page.add("recall/class_0", 1), tally::report_error);
}

TEST_CASE("report: what no sink could take is refused, and says why") {
    CHECK_THROWS_AS(report(-1), tally::report_error);
    CHECK_THROWS_AS(report(0, std::numeric_limits<double>::quiet_NaN()), tally::report_error);
    report page{0};
    CHECK_THROWS_WITH_AS(page.add("bad\xff/x\n", 1), "the tag \"bad\\xff/x\\x0a\" is no UTF-8", tally::report_error);
    CHECK_THROWS_AS(page.add("", 1), tally::report_error);
    CHECK_THROWS_AS(page.add_text("x", "\xc0\x80"), tally::report_error);
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    using rows = std::vector<tally::histogram_row>;
    for (auto const& bad : {rows{{0, inf, 1}}, rows{{-inf, 0, 1}}, rows{{nan, 0, 1}}, rows{{1, 0, 1}},
                            rows{{0, 2, 1}, {1, 3, 1}}, rows{{0, 1, -1}}, rows{{0, 1, nan}}, rows{{0, 1, inf}}}) {
        CHECK_THROWS_AS(page.add("h", bad), tally::report_error);
    }
    CHECK_THROWS_AS(page.put("g", report::grid{"", {"a", "b"}, {1.0}}), tally::report_error);
    CHECK_THROWS_AS(page.put("g", report::grid{"", {}, {1.0}}), tally::report_error);
    CHECK(page.entries().empty());
    page.add("h", rows{{0, 0, 1}, {0, 1, 1}, {3, 4, 0}}).add("\xc3\xbc/\xe2\x82\xac/\xf0\x9f\x98\x80", 1);
    CHECK(page.entries().size() == 2);
}

TEST_CASE("utf8: borders of the ranges (RFC 3629)") {
    using tally::detail::is_utf8;
    for (std::string_view const good : {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        CHECK(is_utf8(good));
    }
    for (std::string_view const bad :
         {"\x80", "\xbf", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
        CHECK_FALSE(is_utf8(bad));
        CHECK_FALSE(is_utf8("ok" + std::string{bad}));
    }
}
