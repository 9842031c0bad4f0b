// Runs recorded verdicts of upstream's own code through the engine and prints how far they agree.
//
//   conformance RECORD.jsonl[.gz] [--list N] [--half even|odd]
//
// --half: only the cases of even (odd) number, so that rules can be written on one half and
// measured on the other.
//
// First line of a record: framework, version, commit, how it was made. Then a case a line:
// megatron-lm   argv, env, arch, world_size
// megatron-bridge  base (a configuration in the first line) and config, the values changed
// verl          base (the name of a default tree) and overrides, Hydra's
// Disagreements are listed first, then `name: value` lines.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>
#include <libdeflate.h>

#include "base/error.h"
#include "base/strings.h"
#include "conformance_cases.h"
#include "rules/engine.h"
#include "rules/expr_builtins.h"
#include "rules/pack.h"

namespace shardlint {
namespace {

using nlohmann::json;

std::string read_record(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.empty()) {
    throw Error("cannot read " + path);
  }
  if (!path.ends_with(".gz")) {
    return bytes;
  }
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data() + bytes.size() - 4, 4);
  std::string text(size, '\0');
  auto* d = libdeflate_alloc_decompressor();
  std::size_t got = 0;
  const auto result =
      libdeflate_gzip_decompress(d, bytes.data(), bytes.size(), text.data(), text.size(), &got);
  libdeflate_free_decompressor(d);
  if (result != LIBDEFLATE_SUCCESS || got != size) {
    throw Error(path + " is not a whole gzip file");
  }
  return text;
}

struct Figures {
  int cases = 0, rejected = 0, at_anchor = 0, parse = 0, parse_flagged = 0, accepted = 0;
  int false_errors = 0, later = 0;
  struct PerKey {
    int recorded = 0, claimed = 0, matched = 0;
  };
  std::map<std::string, PerKey> keys;
  std::vector<std::string> disagreements;
  std::map<std::string, int> later_codes;
};

bool has_anchor(const rules::Finding& finding, std::string_view anchor) {
  for (const Evidence& e : finding.diagnostic.evidence) {
    if (fmt::format("{}:{}", e.path, e.lines) == anchor) {
      return true;
    }
  }
  return false;
}

std::string first_anchor(const rules::Finding& finding) {
  const auto& e = finding.diagnostic.evidence;
  return e.empty() ? "" : fmt::format("{}:{}", e[0].path, e[0].lines);
}

// "mcore@d98e8a64:path:line" and "path:line" name the same statement.
std::string plain_anchor(const std::string& anchor) {
  const auto at = anchor.find('@');
  const auto colon = anchor.find(':');
  return at != std::string::npos && at < colon ? anchor.substr(colon + 1) : anchor;
}

void compare_rewrites(const json& record, const Config& before, const Config& after,
                      const RecordedCase& recorded, Figures& figures) {
  const json& changes = record.contains("overrides") && record["overrides"].is_object()
                            ? record["overrides"]
                            : record.value("rewrites", json::object());
  std::set<std::string> claimed;
  for (const std::string_view name : after.keys()) {
    const std::string key(name);
    const Step& last = after.find(key)->chain.back();
    if (last.origin != Origin::rewritten && last.origin != Origin::computed) {
      continue;
    }
    const Entry* old = before.find(key);
    const Value first = old ? old->value() : recorded.initial(key);
    if (!same_recorded(first, last.value)) {
      claimed.insert(key);
    }
  }
  std::set<std::string> seen;
  for (const auto& [key, change] : changes.items()) {
    const Value wanted = recorded_value(change[1]);
    if (!recorded.counts(key) || same_recorded(recorded_value(change[0]), wanted)) {
      continue;
    }
    seen.insert(key);
    Figures::PerKey& row = figures.keys[key];
    ++row.recorded;
    const Entry* entry = after.find(key);
    const bool ok = entry && same_recorded(entry->value(), wanted);
    row.matched += ok;
    if (!ok && row.recorded - row.matched < 3) {
      figures.disagreements.push_back(
          fmt::format("{}: {} becomes {} upstream, {} here", record["id"].get<std::string>(), key,
                      change[1].dump(), entry ? entry->value().text() : "untouched"));
    }
    row.claimed += claimed.count(key) && (ok || entry);
  }
  for (const std::string& key : claimed) {
    // verl's recorder compares what stands in the composed tree.
    const bool comparable = recorded.config.framework != "verl" || before.find(key);
    if (!seen.count(key) && comparable && recorded.counts(key)) {
      Figures::PerKey& row = figures.keys[key];
      ++row.claimed;
      if (row.claimed - row.matched < 3) {
        figures.disagreements.push_back(fmt::format("{}: {} untouched upstream, becomes {} here",
                                                    record["id"].get<std::string>(), key,
                                                    after.find(key)->value().text()));
      }
    }
  }
}

void judge_case(const json& record, const RecordedCase& recorded, const rules::Program& program,
                Figures& figures) {
  const std::string id = record["id"], verdict = record["verdict"];
  const std::string stage = record.value("stage", "");
  ++figures.cases;
  // What the parser itself refuses. A statement between parsing and validation is a rejection with
  // an anchor like any other, unless the front end refuses the words too.
  const std::string raised = record.value("anchor", "");
  if (verdict == "reject" &&
      (raised.empty() || raised == "compose" || !recorded.parse_errors.empty()) &&
      (stage == "parse" || stage == "compose")) {
    ++figures.parse;
    if (!recorded.parse_errors.empty()) {
      ++figures.parse_flagged;
    } else {
      figures.disagreements.push_back(id + ": refused when parsed upstream, not here");
    }
    return;
  }
  const rules::Run run = rules::run(program, recorded.config, rules::World::closed);
  std::vector<const rules::Finding*> errors;
  for (const std::string& error : recorded.parse_errors) {
    ++figures.false_errors;
    figures.disagreements.push_back(id + ": refused when parsed here: " + error);
  }
  for (const rules::Finding& finding : run.findings) {
    const Diagnostic& d = finding.diagnostic;
    if (d.verdict != Verdict::violation || d.severity != Severity::error) {
      continue;
    }
    if (recorded.executed(finding.check->position.stage)) {
      errors.push_back(&finding);
    } else {
      ++figures.later;
      ++figures.later_codes[fmt::format("{} {} {}", d.code, d.case_id, first_anchor(finding))];
    }
  }
  if (verdict == "accept") {
    ++figures.accepted;
    figures.false_errors += !recorded.built_errors.empty();
    figures.false_errors += !errors.empty();
    if (!errors.empty()) {
      figures.disagreements.push_back(
          fmt::format("{}: accepted upstream, {} {} here ({})", id, errors[0]->diagnostic.code,
                      first_anchor(*errors[0]), errors[0]->diagnostic.message));
    }
    if (recorded.follows_rewrites) {
      compare_rewrites(record, recorded.config, run.config, recorded, figures);
    }
    return;
  }
  const std::string anchor = plain_anchor(record.value("anchor", ""));
  ++figures.rejected;
  std::size_t index = errors.size();
  for (std::size_t i = errors.size(); i-- > 0;) {
    index = has_anchor(*errors[i], anchor) ? i : index;
  }
  const bool built = std::find(recorded.built_errors.begin(), recorded.built_errors.end(),
                               anchor) != recorded.built_errors.end();
  if (index < errors.size() || built) {
    ++figures.at_anchor;
  } else {
    figures.disagreements.push_back(
        fmt::format("{}: rejected at {} upstream, {} here", id, anchor,
                    errors.empty() ? "nothing" : first_anchor(*errors[0])));
  }
  // An error that stands before the statement where upstream stopped is provably false.
  const auto before = [&](const rules::Finding& a, const rules::Finding& b) {
    const auto &x = a.check->position, &y = b.check->position;
    return x.stage != y.stage ? x.stage < y.stage : x.place < y.place;
  };
  if (index < errors.size() && index > 0 && before(*errors[0], *errors[index])) {
    ++figures.false_errors;
    figures.disagreements.push_back(
        fmt::format("{}: rejected at {} upstream, but {} {} fires before it", id, anchor,
                    errors[0]->diagnostic.code, first_anchor(*errors[0])));
  }
}

void print(const Figures& f, std::size_t list) {
  for (std::size_t i = 0; i < f.disagreements.size() && i < list; ++i) {
    fmt::print("{}\n", f.disagreements[i]);
  }
  for (const auto& [code, count] : f.later_codes) {
    if (list > 0) {
      fmt::print("later stage, {} times: {}\n", count, code);
    }
  }
  double recall = 0, precision = 0, always_recall = 0;
  int recalled = 0, claimed = 0, always = 0;
  for (const auto& [key, row] : f.keys) {
    const bool nearly_always = row.recorded > 0.9 * f.accepted;
    if (nearly_always) {
      ++always;
      always_recall += double(row.matched) / row.recorded;
      continue;
    }
    if (row.recorded > 0) {
      ++recalled;
      recall += double(row.matched) / row.recorded;
    }
    if (row.claimed > 0) {
      ++claimed;
      precision += double(row.matched) / row.claimed;
    }
  }
  const auto percent = [](double part, double whole) {
    return whole > 0 ? 100.0 * part / whole : 100.0;
  };
  fmt::print("cases: {}\n", f.cases);
  fmt::print("rejected_with_anchor: {}\nflagged_at_anchor: {}\nflagged_at_anchor_percent: {:.2f}\n",
             f.rejected, f.at_anchor, percent(f.at_anchor, f.rejected));
  fmt::print("rejected_at_parse: {}\nflagged_at_parse: {}\n", f.parse, f.parse_flagged);
  fmt::print("accepted: {}\nfalse_errors: {}\nlater_stage_errors: {}\n", f.accepted, f.false_errors,
             f.later);
  fmt::print(
      "rewritten_keys: {}\nrewrite_recall_percent: {:.2f}\nrewrite_precision_percent: {:.2f}\n",
      recalled, percent(recall, recalled), percent(precision, claimed));
  fmt::print("always_rewritten_keys: {}\nalways_rewrite_recall_percent: {:.2f}\n", always,
             percent(always_recall, always));
}

// Parity 0 or 1: only those cases; 2: all.
int run_record(const std::string& path, std::size_t list, unsigned parity) {
  const std::string text = read_record(path);
  Figures figures;
  json header;
  CaseReader reader;
  std::size_t begin = 0;
  unsigned number = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) {
      continue;
    }
    json record = json::parse(line);
    if (!record.contains("id")) {
      header = std::move(record);
      reader = CaseReader(header);
      continue;
    }
    if (parity < 2 && number++ % 2 != parity) {
      continue;
    }
    judge_case(record, reader.read(record), reader.program(), figures);
  }
  print(figures, list);
  return 0;
}

}  // namespace
}  // namespace shardlint

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) {
    std::fputs("usage: conformance RECORD.jsonl[.gz] [--list N] [--half even|odd]\n", stderr);
    return 2;
  }
  try {
    std::size_t list = 40;
    unsigned parity = 2;
    for (int i = 2; i + 1 < argc; i += 2) {
      const std::string_view option = argv[i], value = argv[i + 1];
      if (option == "--list") {
        list = std::stoul(argv[i + 1]);
      } else if (option == "--half") {
        parity = value == "even" ? 0 : value == "odd" ? 1 : 2;
      }
    }
    return shardlint::run_record(argv[1], list, parity);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return 2;
  }
}
