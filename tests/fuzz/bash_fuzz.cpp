// Any bytes as a launch script: evaluated, its launches found, findings and edits made. What must
// hold: every place lies in the text, a run that counts as copied reads as its source does, and
// edits stay inside the text.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "diagnostics/edits.h"
#include "frontend/shell/argv.h"
#include "frontend/shell/edits.h"
#include "frontend/shell/findings.h"
#include "frontend/shell/launcher.h"

using namespace shardlint;

namespace {

void check_span(const Span& span) {
  if (span) {
    ensure(span.begin <= span.end, "a span ends before it begins");
    ensure(span.end <= span.source->text().size(), "a span leaves its source");
  }
}

void check_word(const Word& word) {
  check_span(word.written);
  check_span(word.span());
  std::size_t size = 0;
  for (const Piece& piece : word.pieces) {
    check_span(piece.span);
    size += piece.text.size();
    if (piece.verbatim && piece.span && !piece.unknown) {
      ensure(piece.span.text() == piece.text, "a copied run does not read as its source");
    }
  }
  ensure(word.text().size() == size, "a word's text is not its pieces'");
  if (size < 64) {
    for (std::size_t i = 0; i <= size; ++i) {
      check_span(word.slice(i).span());
      ensure(word.slice(0, i).text() + word.slice(i).text() == word.text(), "slices do not add up");
    }
  }
}

void check_edits(const Source& source, const shell::Edits& edits) {
  for (const Edit& edit : edits) {
    ensure(edit.where.begin.offset <= edit.where.end.offset, "an edit ends before it begins");
    ensure(edit.where.file != source.name() || edit.where.end.offset <= source.text().size(),
           "an edit leaves the text");
  }
  if (!edits.empty() && edits[0].where.file == source.name()) {
    apply_edits(source.text(), edits);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryDisk disk;
  disk.write("env.sh", "export A=1\nB=${B:-2}\n");
  disk.write("run.sh", "torchrun --nproc_per_node $1 pretrain_gpt.py \"${@:2}\"\n");
  Sources sources;
  const Source& source =
      sources.add("fuzz.sh", std::string(reinterpret_cast<const char*>(data), size));
  const shell::Evaluation result = shell::evaluate(source, sources, disk);
  for (const shell::Command& command : result.commands) {
    check_span(command.span);
    for (const Word& word : command.words) {
      check_word(word);
    }
    for (const shell::Environment& each : *command.environment) {
      check_word(each.value);
      check_span(each.set_at);
    }
  }
  const std::vector<shell::Launch> launches = shell::launches(result, true);
  shell::script_findings(result, launches);
  for (const shell::Launch& launch : launches) {
    check_edits(source, shell::set_flag(launch, "--seq-length", "8"));
    check_edits(source, shell::remove_flag(launch, "--seq-length"));
    check_edits(source, shell::set_override(launch, "a.b", "c"));
    check_edits(source, shell::remove_override(launch, "a.b"));
    check_edits(source, shell::set_environment(launch, "A", "3"));
    check_edits(source, shell::remove_environment(launch, "A"));
  }
  if (result.commands.size() < 50) {
    shell::explain(result, true);
  }
  return 0;
}
