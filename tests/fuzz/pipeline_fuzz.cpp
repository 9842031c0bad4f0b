// Any bytes through the whole pipeline, as a user's file: the first byte says of which name. What
// must hold: places and edits lie in the text, the same input gives the same findings, and every
// output format takes them.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "report/report.h"
#include "shardlint/lint.h"

using namespace shardlint;

namespace {

struct Kind {
  const char* name;
  const char* framework;
};
constexpr Kind kinds[] = {
    {"job.yaml", ""},
    {"job.yaml", "megatron-bridge"},
    {"job.yaml", "megatron-lm"},
    {"job.yaml", "verl"},
    {"launch.sh", ""},
    {"recipe.py", ""},
    {"run_config.yaml", ""},
    {"launch.sbatch", ""},
};

void check(const Diagnostic& d, const std::string& name, std::size_t size) {
  ensure(!d.code.empty() && !d.message.empty(), "a finding without a word");
  ensure(d.where.file != name ||
             (d.where.begin.offset <= d.where.end.offset && d.where.end.offset <= size),
         "a finding outside the text");
  for (const Fix& fix : d.fixes) {
    for (const Edit& edit : fix.edits) {
      ensure(edit.where.file != name || (edit.where.begin.offset <= edit.where.end.offset &&
                                         edit.where.end.offset <= size),
             "an edit outside the text");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 20'000) {
    return 0;
  }
  const Kind& kind = kinds[data[0] % std::size(kinds)];
  const std::string name = std::string("/nowhere/") + kind.name;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  Options options;
  options.framework = kind.framework;
  options.jobs = 1;
  options.world = data[0] & 0x80 ? Options::World::closed : Options::World::automatic;
  const Result result = lint(name, text, options);
  for (const Diagnostic& d : result.diagnostics) {
    check(d, name, text.size());
  }
  Report report;
  report.diagnostics = result.diagnostics;
  report.suppressed = result.suppressed;
  report.files = result.files;
  report.text = [&](const std::string&) { return std::optional<std::string>(text); };
  for (const Format& format : formats()) {
    format.render(report, {});
  }
  return 0;
}
