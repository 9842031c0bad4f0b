#include "cli/fix.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "diagnostics/edits.h"

namespace shardlint {
namespace {

// Fixes can call for fixes; a chain longer than this is two rules that contradict each other.
constexpr int max_passes = 10;

using Texts = std::map<std::string, std::string>;

// What stays the same when lines move: counted, since a rule can speak twice of one key.
std::string identity(const Diagnostic& d) {
  return d.code + '\n' + d.case_id + '\n' + d.where.file + '\n' + d.instance + '\n' + d.key.path;
}

std::map<std::string, int> count_findings(const std::vector<Diagnostic>& diagnostics,
                                          const std::set<std::string>& files) {
  std::map<std::string, int> counts;
  for (const Diagnostic& d : diagnostics) {
    if (files.count(d.where.file)) {
      ++counts[identity(d)];
    }
  }
  return counts;
}

struct Candidate {
  const Diagnostic* finding;
  const Fix* fix;
  std::set<std::string> files;  // those it edits, and the finding's own
};

using Group = std::vector<const Candidate*>;

// What applying some fixes together would give. `why`: the reason not to; empty when it holds.
struct Outcome {
  Texts texts;
  std::vector<Diagnostic> findings;  // of those texts
  std::string why;
};

class Fixer {
 public:
  Fixer(const std::vector<Diagnostic>& diagnostics, bool unsafe,
        const std::function<std::string(const std::string&)>& read, const LintTexts& relint)
      : unsafe_(unsafe), read_(read), relint_(relint), findings_(diagnostics) {}

  FixRun run() {
    for (int pass = 0; pass < max_passes; ++pass) {
      const std::vector<Diagnostic> findings = findings_;
      const std::vector<Candidate> batch = choose(findings);
      if (batch.empty()) {
        return finish();
      }
      for (const Group& group : groups(batch)) {
        fix_group(group);
      }
    }
    out_.refused.push_back("fixes were still calling for fixes after 10 passes");
    return finish();
  }

 private:
  static std::string key(const Candidate& c) { return identity(*c.finding) + '\n' + c.fix->title; }

  bool allowed(const Fix& fix) const {
    return !fix.edits.empty() &&
           (fix.safety == Safety::safe || (unsafe_ && fix.safety == Safety::unsafe));
  }

  // One fix a finding, the first that is allowed and was not refused; overlapping ones wait for the
  // next pass.
  std::vector<Candidate> choose(const std::vector<Diagnostic>& findings) const {
    std::vector<Candidate> out;
    std::vector<const Edit*> taken;
    for (const Diagnostic& d : findings) {
      const auto fix = std::find_if(d.fixes.begin(), d.fixes.end(), [&](const Fix& f) {
        return allowed(f) && !refused_.count(key({&d, &f, {}}));
      });
      if (fix == d.fixes.end()) {
        continue;
      }
      Candidate candidate{&d, &*fix, {d.where.file}};
      const bool clash = std::any_of(fix->edits.begin(), fix->edits.end(), [&](const Edit& edit) {
        return std::any_of(taken.begin(), taken.end(),
                           [&](const Edit* other) { return overlaps(edit, *other); });
      });
      if (clash) {
        continue;
      }
      for (const Edit& edit : fix->edits) {
        candidate.files.insert(edit.where.file);
        taken.push_back(&edit);
      }
      out.push_back(std::move(candidate));
    }
    return out;
  }

  // Candidates that share a file, directly or through others, form one group.
  static std::vector<Group> groups(const std::vector<Candidate>& batch) {
    std::vector<std::pair<Group, std::set<std::string>>> out;
    for (const Candidate& candidate : batch) {
      Group group;
      std::set<std::string> reach = candidate.files;
      for (std::size_t i = 0; i < out.size();) {
        const auto& [others, files] = out[i];
        if (std::none_of(files.begin(), files.end(), [&](const std::string& file) {
              return candidate.files.count(file) > 0;
            })) {
          ++i;
          continue;
        }
        group.insert(group.end(), others.begin(), others.end());
        reach.insert(files.begin(), files.end());
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      }
      group.push_back(&candidate);
      out.emplace_back(std::move(group), std::move(reach));
    }
    std::vector<Group> only;
    for (auto& [group, files] : out) {
      only.push_back(std::move(group));
    }
    return only;
  }

  // All together when that holds, else as many as hold, one more at a time.
  void fix_group(const Group& group) {
    Outcome best = attempt(group);
    Group kept = group;
    if (!best.why.empty()) {
      kept.clear();
      for (const Candidate* candidate : group) {
        Group more = kept;
        more.push_back(candidate);
        Outcome outcome = attempt(more);
        if (outcome.why.empty()) {
          kept = std::move(more);
          best = std::move(outcome);
        } else {
          refuse(*candidate, outcome.why);
        }
      }
    }
    if (!kept.empty()) {
      keep(kept, std::move(best));
    }
  }

  std::string current(const std::string& file) const {
    const auto at = texts_.find(file);
    return at == texts_.end() ? read_(file) : at->second;
  }

  Outcome attempt(const Group& group) const {
    Outcome out;
    std::map<std::string, std::vector<Edit>> edits;
    std::set<std::string> files;
    for (const Candidate* candidate : group) {
      files.insert(candidate->files.begin(), candidate->files.end());
      for (const Edit& edit : candidate->fix->edits) {
        edits[edit.where.file].push_back(edit);
      }
    }
    Texts all = texts_;
    for (const std::string& file : files) {
      Edited edited = apply_edits(current(file), edits[file]);
      if (!edited.skipped.empty()) {
        out.why = "its edits do not fit the file";
        return out;
      }
      all[file] = out.texts[file] = std::move(edited.text);
    }
    for (Diagnostic& d : relint_(all)) {
      if (files.count(d.where.file)) {
        out.findings.push_back(std::move(d));
      }
    }
    out.why = broken(group, files, out.findings);
    return out;
  }

  // Why the texts after the fixes may not stay; empty when they may.
  std::string broken(const Group& group, const std::set<std::string>& files,
                     const std::vector<Diagnostic>& after) const {
    std::map<std::string, int> allowed = count_findings(findings_, files);
    std::map<std::string, int> left = count_findings(after, files);
    for (const Candidate* candidate : group) {
      --allowed[identity(*candidate->finding)];
    }
    for (const Candidate* candidate : group) {
      const std::string id = identity(*candidate->finding);
      if (left[id] > allowed[id]) {
        return fmt::format("{} is still there after it", candidate->finding->code);
      }
    }
    for (const Diagnostic& d : after) {
      if (d.severity == Severity::error && d.verdict == Verdict::violation &&
          left[identity(d)] > allowed[identity(d)]) {
        return fmt::format("it would cause {}: {}", d.code, d.message);
      }
    }
    return "";
  }

  void refuse(const Candidate& candidate, const std::string& why) {
    refused_.insert(key(candidate));
    const Diagnostic& d = *candidate.finding;
    out_.refused.push_back(fmt::format("{}:{}: {} not fixed ({}): {}", d.where.file,
                                       d.where.begin.line, d.code, candidate.fix->title, why));
  }

  void keep(const Group& group, Outcome outcome) {
    for (const Candidate* candidate : group) {
      out_.applied.push_back({candidate->finding->where.file, candidate->finding->code,
                              candidate->fix->title, candidate->fix->safety});
    }
    std::erase_if(findings_,
                  [&](const Diagnostic& d) { return outcome.texts.count(d.where.file) > 0; });
    std::move(outcome.findings.begin(), outcome.findings.end(), std::back_inserter(findings_));
    for (auto& [file, text] : outcome.texts) {
      texts_[file] = std::move(text);
    }
  }

  FixRun finish() {
    for (auto& [file, text] : texts_) {
      if (std::string before = read_(file); before != text) {
        out_.files[file] = {std::move(before), std::move(text)};
      }
    }
    return std::move(out_);
  }

  bool unsafe_;
  const std::function<std::string(const std::string&)>& read_;
  const LintTexts& relint_;
  std::vector<Diagnostic> findings_;  // of the texts as they are now
  Texts texts_;                       // those that differ from disk
  std::set<std::string> refused_;     // not to be tried again
  FixRun out_;
};

}  // namespace

FixRun fix_findings(const std::vector<Diagnostic>& diagnostics, bool unsafe,
                    const std::function<std::string(const std::string&)>& read,
                    const LintTexts& relint) {
  return Fixer(diagnostics, unsafe, read, relint).run();
}

}  // namespace shardlint
