#include "diagnostics/suppress.h"

#include <doctest/doctest.h>

#include "base/strings.h"
#include "diagnostics/add_ignore.h"
#include "diagnostics/comments.h"
#include "diagnostics/edits.h"

using namespace shardlint;

namespace {

SuppressPolicy policy() {
  SuppressPolicy out;
  out.code_of = [](std::string_view rule) -> std::optional<std::string> {
    if (rule == "AAA1" || rule == "BBB2" || rule == "SEC1" || rule == "OFF1") {
      return std::string(rule);
    }
    return rule == "first-rule" ? std::optional<std::string>("AAA1") : std::nullopt;
  };
  out.active = [](std::string_view code) { return code != "OFF1"; };
  out.forbidden = [](std::string_view code) { return code == "SEC1"; };
  out.known = {"AAA1", "BBB2", "SEC1", "OFF1", "first-rule"};
  return out;
}

// One finding of AAA1 on each line that contains "bad"; what is left is told as "CODE:line ...",
// suppressed ones as "(kind:line)".
std::string outcome(std::string_view text, std::string_view name, std::string_view code = "AAA1",
                    const SuppressPolicy& how = policy()) {
  const Source source{std::string(name), std::string(text)};
  std::vector<Diagnostic> diagnostics;
  for (std::size_t at = text.find("bad"); at != text.npos; at = text.find("bad", at + 1)) {
    Diagnostic d;
    d.code = code;
    const auto begin = static_cast<std::uint32_t>(at);
    d.where = locate({&source, begin, begin + 3});
    diagnostics.push_back(d);
  }
  std::vector<Suppressed> suppressed;
  apply_suppressions(source, *comment_syntax(name), how, diagnostics, suppressed);
  std::vector<std::string> out;
  for (const Diagnostic& d : diagnostics) {
    out.push_back(d.code + ":" + std::to_string(d.where.begin.line));
  }
  for (const Suppressed& s : suppressed) {
    out.push_back("(" + s.kind + ":" + std::to_string(s.diagnostic.where.begin.line) +
                  (s.reason.empty() ? "" : " " + s.reason) + ")");
  }
  return join(out, " ");
}

std::string fixed(std::string_view text) {
  const Source source{"f.yaml", std::string(text)};
  std::vector<Diagnostic> diagnostics;
  std::vector<Suppressed> suppressed;
  apply_suppressions(source, CommentSyntax::yaml, policy(), diagnostics, suppressed);
  std::vector<Edit> edits;
  for (const Diagnostic& d : diagnostics) {
    for (const Fix& fix : d.fixes) {
      edits.insert(edits.end(), fix.edits.begin(), fix.edits.end());
    }
  }
  return apply_edits(text, edits).text;
}

}  // namespace

TEST_SUITE("suppress") {
  TEST_CASE("yaml") {
    const struct {
      std::string_view text, expected;
    } rows[] = {
        {"a: bad  # shardlint: ignore[AAA1] -- known\n", "(inline:1 known)"},
        {"a: bad  # shardlint: ignore[first-rule]\n", "(inline:1)"},
        {"a: bad  # why # shardlint: ignore[AAA1]\n", "(inline:1)"},
        {"a: bad  # see shardlint: ignore[AAA1]\n", "AAA1:1"},
        {"a: bad  # shardlint: ignore[BBB2]\n", "AAA1:1 SUP100:1"},
        {"a: bad  # shardlint: ignore[OFF1]\n", "AAA1:1"},
        {"a: bad  # shardlint: ignore[SEC1]\n", "AAA1:1 SUP103:1"},
        {"a: bad  # shardlint: ignore[AAA2]\n", "AAA1:1 SUP101:1"},
        {"a: bad  # shardlint: ignore\n", "AAA1:1 SUP104:1"},
        {"a: bad  # shardlint: ignore[]\n", "AAA1:1 SUP104:1"},
        {"a: bad  # shardlint: ignore[AAA1\n", "AAA1:1 SUP104:1"},
        {"a: bad  # shardlint: ingore[AAA1]\n", "AAA1:1 SUP104:1"},
        {"# shardlint: ignore[AAA1]\na:\n  b: bad\n  c: bad\nd: bad\n",
         "AAA1:5 (inline:3) (inline:4)"},
        {"# shardlint: ignore[AAA1]\n\n# more\na: bad\nb: bad\n", "AAA1:5 (inline:4)"},
        {"# shardlint: ignore[AAA1]\na:\n- bad\n- bad\nb: bad\n", "AAA1:5 (inline:3) (inline:4)"},
        {"a:\n- bad\n# shardlint: ignore[AAA1]\n- bad\n- bad\n", "AAA1:2 AAA1:5 (inline:4)"},
        {"# shardlint: ignore[AAA1]\na: [1,\nbad,\n2]\nb: bad\n", "AAA1:5 (inline:3)"},
        {"# shardlint: file-ignore[AAA1] -- generated\na: bad\nb: bad\n",
         "(file:2 generated) (file:3 generated)"},
        {"a: bad\n# shardlint: file-ignore[AAA1]\n", "AAA1:1 SUP104:2"},
        {"a: bad\n# shardlint: disable[AAA1]\nb: bad\n# shardlint: enable[AAA1]\nc: bad\n",
         "AAA1:1 AAA1:5 (range:3)"},
        {"# shardlint: disable[AAA1, BBB2]\nb: bad\n# shardlint: enable[BBB2]\nc: bad\n",
         "SUP100:1 (range:2) (range:4)"},
        {"a: 'x  # shardlint: ignore[AAA1]'\nb: bad\n", "AAA1:2"},
        {"a: |\n  # shardlint: ignore[AAA1]\nb: bad\n", "AAA1:3"},
        {"- k: >-\n    # shardlint: ignore[AAA1]\n  b: bad\n", "AAA1:3"},
        {"a: it's  # shardlint: ignore[AAA1]\nb: bad # don't\n", "AAA1:2 SUP100:1"},
        {"a: x# shardlint: ignore[AAA1]\nb: bad\n", "AAA1:2"},
        {"a: bad  # shardlint: ignore[AAA1]\r\nb: bad\r\n", "AAA1:2 (inline:1)"},
        {"a: bad  # shardlint: ignore[AAA1, AAA1]", "(inline:1)"},
        {"# shardlint: ignore[AAA1]", "SUP100:1"},
    };
    for (const auto& row : rows) {
      INFO(row.text);
      CHECK(outcome(row.text, "f.yaml") == row.expected);
    }
  }
  TEST_CASE("shell") {
    const struct {
      std::string_view text, expected;
    } rows[] = {
        {"# shardlint: ignore[AAA1]\ntorchrun x.py \\\n  --bad \\\n  --bad\necho bad\n",
         "AAA1:5 (inline:3) (inline:4)"},
        {"ARGS=(\n  --bad  # shardlint: ignore[AAA1]\n  --bad\n)\n", "AAA1:3 (inline:2)"},
        {"# shardlint: ignore[AAA1]\nARGS=(\n  --bad\n)\necho bad\n", "AAA1:5 (inline:3)"},
        {"echo \"# shardlint: ignore[AAA1]\"\necho bad\n", "AAA1:2"},
        {"cat <<EOF\n# shardlint: ignore[AAA1]\nEOF\necho bad\n", "AAA1:4"},
        {"cat <<-'END'\n\t# shardlint: ignore[AAA1]\n\tEND\necho bad # shardlint: ignore[AAA1]\n",
         "(inline:4)"},
        {"echo ${#x} bad\n", "AAA1:1"},
        {"cat <<<$x\nx=$((1 << 2))\necho bad # shardlint: ignore[AAA1]\n", "(inline:3)"},
        {"a='it'\\''s' # shardlint: ignore[AAA1]\n# bad\n", "AAA1:2 SUP100:1"},
    };
    for (const auto& row : rows) {
      INFO(row.text);
      CHECK(outcome(row.text, "f.sh") == row.expected);
    }
  }
  TEST_CASE("python") {
    const struct {
      std::string_view text, expected;
    } rows[] = {
        {"# shardlint: ignore[AAA1]\nx = f(\n  bad,\n)\ny = bad\n", "AAA1:5 (inline:3)"},
        {"# shardlint: ignore[AAA1]\ndef f():\n  bad\n\n  bad\nbad\n",
         "AAA1:6 (inline:3) (inline:5)"},
        {"'''\n# shardlint: ignore[AAA1]\n'''\nbad\n", "AAA1:4"},
        {"x = '#'; bad# shardlint: ignore[AAA1]\n", "(inline:1)"},
        {"x = 'a\\'#' # shardlint: ignore[AAA1]\nbad\n", "AAA1:2 SUP100:1"},
    };
    for (const auto& row : rows) {
      INFO(row.text);
      CHECK(outcome(row.text, "f.py") == row.expected);
    }
  }
  TEST_CASE("a rule that may not be ignored still speaks") {
    CHECK(outcome("a: bad  # shardlint: ignore[SEC1]\n", "f.yaml", "SEC1") == "SEC1:1 SUP103:1");
  }
  TEST_CASE("reasons can be required") {
    SuppressPolicy strict = policy();
    strict.require_reason = true;
    CHECK(outcome("a: bad  # shardlint: ignore[AAA1]\n", "f.yaml", "AAA1", strict) ==
          "SUP102:1 (inline:1)");
    CHECK(outcome("a: bad  # shardlint: ignore[AAA1] -- so\n", "f.yaml", "AAA1", strict) ==
          "(inline:1 so)");
  }
  TEST_CASE("an unused suppression can be removed") {
    const struct {
      std::string_view before, after;
    } rows[] = {{"a: 1  # shardlint: ignore[AAA1] -- x\nb: 2\n", "a: 1\nb: 2\n"},
                {"a: 1\n  # shardlint: ignore[AAA1]\nb: 2\n", "a: 1\nb: 2\n"},
                {"a: 1  # kept # shardlint: ignore[AAA1]\n", "a: 1  # kept\n"},
                {"a: 1  # shardlint: ignore[AAA1, OFF1]\n", "a: 1  # shardlint: ignore[OFF1]\n"},
                {"a: 1  # shardlint: ignore[OFF1, AAA1]\n", "a: 1  # shardlint: ignore[OFF1]\n"},
                {"a: 1  # shardlint: ignore[AAA2]\n", "a: 1  # shardlint: ignore[AAA1]\n"}};
    for (const auto& row : rows) {
      INFO(row.before);
      CHECK(fixed(row.before) == row.after);
    }
  }
  TEST_CASE("a comment is written where it covers the finding") {
    const struct {
      std::string_view name, before, after;
    } rows[] = {
        {"f.yaml", "a: bad\n", "a: bad  # shardlint: ignore[AAA1] -- so\n"},
        {"f.yaml", "a: bad\r\n", "a: bad  # shardlint: ignore[AAA1] -- so\r\n"},
        {"f.yaml", "a: bad # shardlint: ignore[BBB2]\n",
         "a: bad # shardlint: ignore[BBB2, AAA1]\n"},
        {"f.yaml", "- k: |\n    bad\n", "# shardlint: ignore[AAA1] -- so\n- k: |\n    bad\n"},
        {"f.sh", "x\ntorchrun \\\n  --bad \\\n  --b\n",
         "x\n# shardlint: ignore[AAA1] -- so\ntorchrun \\\n  --bad \\\n  --b\n"},
        {"f.sh", "# shardlint: ignore[BBB2]\ntorchrun \\\n  --bad \\\n  --b\n",
         "# shardlint: ignore[BBB2, AAA1]\ntorchrun \\\n  --bad \\\n  --b\n"},
        {"f.sh", "A=(\n  --bad\n)\n", "A=(\n  --bad  # shardlint: ignore[AAA1] -- so\n)\n"},
        {"f.py", "x = f(\n    bad)\n", "x = f(\n    bad)  # shardlint: ignore[AAA1] -- so\n"},
        {"f.py", "  x = \"\"\"\nbad\n\"\"\"\n",
         "  # shardlint: ignore[AAA1] -- so\n  x = \"\"\"\nbad\n\"\"\"\n"},
    };
    for (const auto& row : rows) {
      const Source source{std::string(row.name), std::string(row.before)};
      Diagnostic d;
      d.code = "AAA1";
      const auto begin = static_cast<std::uint32_t>(row.before.find("bad"));
      d.where = locate({&source, begin, begin + 3});
      const std::optional<Fix> fix = ignore_comment(d, source, "so");
      REQUIRE(fix);
      const std::string after = apply_edits(row.before, fix->edits).text;
      CHECK(after == row.after);
      const std::string told = outcome(after, row.name);
      INFO(told);
      CHECK(told.find("AAA1:") == std::string::npos);  // and so it is quiet
    }
  }
}
