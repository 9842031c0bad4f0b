#include "cli/fix.h"

#include <doctest/doctest.h>

#include "source/source.h"

using namespace shardlint;

namespace {

using Texts = std::map<std::string, std::string>;

Fix replace(const Source& source, std::string_view from, std::string to, Safety safety) {
  const auto begin = static_cast<std::uint32_t>(source.text().find(from));
  const auto end = begin + static_cast<std::uint32_t>(from.size());
  return {"write " + to, safety, {{locate({&source, begin, end}), std::move(to)}}};
}

// A toy linter: each rule speaks of a word and knows a replacement for it.
struct Rule {
  std::string code, word, replacement;
  Safety safety = Safety::safe;
  Severity severity = Severity::error;
};

std::vector<Diagnostic> toy_lint(const std::vector<Rule>& rules, const Texts& texts) {
  std::vector<Diagnostic> out;
  for (const auto& [file, text] : texts) {
    const Source source(file, text);
    for (const Rule& rule : rules) {
      const std::size_t at = text.find(rule.word);
      if (at == std::string::npos) {
        continue;
      }
      Diagnostic d;
      d.code = rule.code;
      d.severity = rule.severity;
      d.message = rule.word + " is bad";
      const auto begin = static_cast<std::uint32_t>(at);
      d.where = locate({&source, begin, begin + static_cast<std::uint32_t>(rule.word.size())});
      if (!rule.replacement.empty()) {
        d.fixes = {replace(source, rule.word, rule.replacement, rule.safety)};
      }
      out.push_back(std::move(d));
    }
  }
  return out;
}

FixRun fix(const std::vector<Rule>& rules, const Texts& texts, bool unsafe = false) {
  return fix_findings(
      toy_lint(rules, texts), unsafe, [&](const std::string& file) { return texts.at(file); },
      [&](const Texts& changed) { return toy_lint(rules, changed); });
}

}  // namespace

TEST_SUITE("fix") {
  TEST_CASE("fixes are applied together, and again until nothing is left") {
    const struct {
      std::vector<Rule> rules;
      std::string before, after;
      std::size_t applied, refused;
    } rows[] = {
        {{{"A1", "one", "1"}, {"B1", "two", "2"}}, "one two", "1 2", 2, 0},
        {{{"A1", "one", "two"}, {"B1", "two", "2", Safety::safe, Severity::warning}},
         "one",
         "2",
         2,
         0},                                                              // a fix calls for another
        {{{"A1", "one", "bone"}}, "one", "one", 0, 1},                    // still there afterwards
        {{{"A1", "one", "two"}, {"B1", "two", ""}}, "one", "one", 0, 1},  // would cause a new error
        {{{"A1", "one", "two"}, {"B1", "two", ""}, {"C1", "six", "6"}}, "one six", "one 6", 1, 1},
        {{{"A1", "one two", "1"}, {"B1", "two", "2"}}, "one two", "1", 1, 0},  // overlap
        {{{"A1", "one", "1", Safety::unsafe}}, "one", "one", 0, 0},
        {{{"A1", "one", "1", Safety::display}}, "one", "one", 0, 0},
    };
    for (const auto& row : rows) {
      const FixRun run = fix(row.rules, {{"f", row.before}});
      INFO(row.before);
      CHECK(run.applied.size() == row.applied);
      CHECK(run.refused.size() == row.refused);
      CHECK(run.files.size() == (row.before == row.after ? 0 : 1));
      if (!run.files.empty()) {
        CHECK(run.files.at("f").before == row.before);
        CHECK(run.files.at("f").after == row.after);
      }
    }
  }
  TEST_CASE("unsafe fixes need to be asked for, display ones are never applied") {
    CHECK(fix({{"A1", "one", "1", Safety::unsafe}}, {{"f", "one"}}, true).files.at("f").after ==
          "1");
    CHECK(fix({{"A1", "one", "1", Safety::display}}, {{"f", "one"}}, true).files.empty());
  }
  TEST_CASE("two rules that contradict each other end, and say so") {
    const FixRun run = fix({{"A1", "one", "two"}, {"B1", "two", "one"}}, {{"f", "one"}});
    CHECK(run.files.empty());
    REQUIRE(run.refused.size() == 1);
    CHECK(run.refused[0] == "f:1: A1 not fixed (write two): it would cause B1: two is bad");
  }
  TEST_CASE("a fix over two files is kept whole or not at all") {
    const Texts texts = {{"a", "bad"}, {"b", "old"}};
    const auto lint = [](const Texts& now) {
      std::vector<Diagnostic> out;
      if (now.at("a") == "bad") {
        const Source a("a", now.at("a")), b("b", now.at("b"));
        Diagnostic d;
        d.code = "A1";
        d.where = locate({&a, 0, 3});
        Fix both = replace(a, "bad", "good", Safety::safe);
        both.edits.push_back(replace(b, "old", "new", Safety::safe).edits[0]);
        d.fixes = {both};
        out.push_back(d);
      }
      return out;
    };
    const FixRun run = fix_findings(
        lint(texts), false, [&](const std::string& file) { return texts.at(file); }, lint);
    CHECK(run.files.at("a").after == "good");
    CHECK(run.files.at("b").after == "new");
  }
  TEST_CASE("files are independent of each other") {
    const FixRun run = fix({{"A1", "one", "two"}, {"B1", "two", ""}, {"C1", "six", "6"}},
                           {{"a", "one"}, {"b", "six"}});
    CHECK(run.files.size() == 1);
    CHECK(run.files.at("b").after == "6");
  }
}
