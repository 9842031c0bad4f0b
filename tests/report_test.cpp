#include <doctest/doctest.h>

#include "base/error.h"
#include "report/escape.h"
#include "report/formats.h"
#include "sample_report.h"

using namespace shardlint;

TEST_SUITE("report") {
  TEST_CASE("full shows the place, what takes part, where the value came from and what to do") {
    Report report = sample_report();
    report.diagnostics.erase(report.diagnostics.begin(), report.diagnostics.begin() + 2);
    CHECK(
        render_full(report, {}) ==
        R"(error[CKP104] megatron-fsdp-checkpoint-format: `checkpoint.ckpt_format` is `torch_dist`, but Megatron FSDP needs `fsdp_dtensor`
  --> conf/a b.yaml:6:16
   |
 3 |   use_megatron_fsdp: true
   |   ----------------------- Megatron FSDP is turned on here
 4 | checkpoint:
 5 |   save: /ckpt
   |   ---- a checkpoint is saved here
 6 |   ckpt_format: torch_dist  # \x1b[31mred
   |                ^^^^^^^^^^
   = origin: written here at conf/a b.yaml:6:3
   = then: default of the class
   = help: set `checkpoint.ckpt_format` to `fsdp_dtensor`
   = fix: set the format (safe)
   = fix: shown only (display)
   = upstream: NVIDIA-NeMo/Megatron-Bridge 067f987df0 src/megatron/bridge/training/config.py:1104-1109 (assert)

)");
  }
  TEST_CASE("an undecided rule says what it waits for") {
    Report report = sample_report();
    report.diagnostics = {report.diagnostics[1]};
    const std::string text = render_full(report, {});
    CHECK(text.find("unknown[CKP105] something-undecided: ") == 0);
    CHECK(text.find("= unknown: `env.FSDP` (env): not given; supply it with --env FSDP=...") !=
          std::string::npos);
  }
  TEST_CASE("colour is only where it was asked for") {
    Look look;
    CHECK(render_full(sample_report(), look).find('\x1b') == std::string::npos);
    look.color = true;
    CHECK(render_full(sample_report(), look).find("\x1b[1;31merror[CKP104]\x1b[0m") !=
          std::string::npos);
  }
  TEST_CASE("a place at the end of a line, of a file and of a long line can be shown") {
    const std::string long_line(300, 'x');
    const std::string text = "a\n\n" + long_line + "key: 1\ttab\n";
    const Source source("f.yaml", text);
    const auto end = static_cast<std::uint32_t>(text.size());
    const struct {
      std::uint32_t begin, end;
      std::string_view shows;
    } rows[] = {{1, 1, " 1 | a\n   |  ^\n"},
                {2, 2, " 2 | \n   | ^\n"},
                {303, 309, "xkey: 1 tab\n"},
                {end, end, " 4 | \n   | ^\n"},
                {0, end, " 1 | a\n   | ^\n"}};
    for (const auto& row : rows) {
      Report report;
      Diagnostic d;
      d.code = "X1";
      d.where = locate({&source, row.begin, row.end});
      report.diagnostics = {d};
      report.text = [&](const std::string&) { return std::optional<std::string>(text); };
      const std::string shown = render_full(report, {});
      INFO(shown);
      CHECK(shown.find(row.shows) != std::string::npos);
      for (const std::string_view line : {std::string_view(shown)}) {
        CHECK(line.size() < 600);
      }
    }
  }
  TEST_CASE("a file that is gone is still named") {
    Report report = sample_report();
    report.text = nullptr;
    CHECK(render_full(report, {}).find("--> conf/a b.yaml:6:16\n") != std::string::npos);
  }
  TEST_CASE("concise is one line a finding that compilers' readers understand") {
    CHECK(render_concise(sample_report(), {}) ==
          "-:1:1: info: ARG001 no place\n"
          "conf/a b.yaml:5:3: unknown: CKP105 <whether> \"quotes\" & | bars,\\nand: lines\n"
          "conf/a b.yaml:6:16: error: CKP104 [*] `checkpoint.ckpt_format` is `torch_dist`, but "
          "Megatron FSDP needs `fsdp_dtensor`\n");
  }
  TEST_CASE("grouped has a heading a file") {
    const std::string text = render_grouped(sample_report(), {});
    CHECK(text.starts_with("-:\n  1:1 info ARG001 no place\n\nconf/a b.yaml:\n  5:3 unknown"));
  }
  TEST_CASE("github: properties and messages are escaped") {
    const std::string text = render_github(sample_report(), {});
    CHECK(
        text.find("::notice title=shardlint (CKP105),file=conf/a b.yaml,line=5,col=3,endLine=5,"
                  "endColumn=14::conf/a b.yaml:5:3: CKP105 <whether> \"quotes\" & | bars,%0Aand") !=
        std::string::npos);
    CHECK(text.find("::notice title=shardlint (ARG001)::ARG001 no place\n") == 0);
  }
  TEST_CASE("markdown keeps the table whole") {
    const std::string text = render_markdown(sample_report(), {});
    CHECK(text.find("| conf/a b.yaml:5 | unknown | CKP105 | &lt;whether> \"quotes\" & \\| bars,") !=
          std::string::npos);
    CHECK(text.find("| `checkpoint.ckpt_format` is `torch_dist`, but") != std::string::npos);
  }
  TEST_CASE("the summary counts an undecided rule once") {
    CHECK(summary_line(sample_report()) ==
          "1 error, 1 info, 1 undecided in 2 files (1 skipped: no training configuration); "
          "2 suppressed; 1 fixable with --fix");
    CHECK(summary_line({}) == "nothing found in 0 files");
  }
  TEST_CASE("text that is not text is made harmless") {
    const struct {
      std::string_view text, expected;
    } rows[] = {{"a\x1b[0m", "a\\x1b[0m"},
                {"\xff\xfe", "\xEF\xBF\xBD\xEF\xBF\xBD"},
                {"\xC2\x9B", "\\x9b"},
                {"\xC3\xA9", "\xC3\xA9"},
                {"a\r\nb", "a\\r\\nb"}};
    for (const auto& row : rows) {
      CHECK(printable(row.text) == row.expected);
    }
    CHECK(xml("<a b=\"c\">&\x01") == "&lt;a b=&quot;c&quot;&gt;&amp;\xEF\xBF\xBD");
    CHECK(uri("a b/\xC3\xA9%") == "a%20b/%C3%A9%25");
  }
  TEST_CASE("an unknown format is answered with the nearest") {
    CHECK_THROWS_WITH_AS(find_format("jsno"),
                         "there is no output format `jsno`; did you mean `json`?", Error);
    CHECK(formats().size() == 12);
  }
}
