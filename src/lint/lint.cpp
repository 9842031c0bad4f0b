// The pipeline: discover, read, judge, sort. Nothing else decides what happens to a file.
#include "shardlint/lint.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/plan.h"
#include "diagnostics/sort.h"
#include "discover/discover.h"
#include "frontend/python/parsed_files.h"
#include "lint/judge.h"
#include "lint/suppressions.h"
#include "lint/targets.h"
#include "lint/units.h"

namespace shardlint {
namespace {

struct FileResult {
  std::vector<Diagnostic> diagnostics;
  std::vector<Suppressed> suppressed;
  std::vector<Target> targets;
  std::string failure;
  bool linted = false;
};

// The checkpoint that the option names, opened once for all configurations.
std::optional<checkpoint::ResumePoint> resume_point(const Options& options) {
  return options.checkpoint.empty() ? std::nullopt
                                    : std::optional<checkpoint::ResumePoint>(options.checkpoint);
}

void append(std::vector<Diagnostic>& to, std::vector<Diagnostic> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// The rules' findings, then those of the configuration in force against the checkpoint.
std::vector<Diagnostic> findings(const Unit& unit, const RuleBook& book,
                                 const std::optional<checkpoint::ResumePoint>& resume) {
  Config after;
  std::vector<Diagnostic> out = judge(unit, book, resume ? &after : nullptr);
  if (resume) {
    append(out, resume->check(after.framework.empty() ? unit.config : after));
  }
  return out;
}

// What reading found, then what is found in each configuration.
std::vector<Diagnostic> judge_all(ReadFile& read, const RuleBook& book,
                                  const std::optional<checkpoint::ResumePoint>& resume) {
  std::vector<Diagnostic> out = std::move(read.diagnostics);
  for (const Unit& unit : read.units) {
    append(out, findings(unit, book, resume));
  }
  add_brought(out, read.brought);
  return out;
}

std::string_view reading_of(FileKind kind) {
  switch (kind) {
    case FileKind::yaml:
      return "YAML files read";
    case FileKind::shell:
      return "scripts read";
    case FileKind::python:
      return "Python files read";
  }
  return "";
}

FileResult lint_file(const FoundFile& file, std::string text, Bench& bench, const RuleBook& book,
                     const std::optional<checkpoint::ResumePoint>& resume) {
  FileResult out;
  Sources sources;
  ReadFile read;
  {
    const PhaseClock clock(book.profile(), "phase", reading_of(file.kind));
    read = read_file(file, std::move(text), sources, bench);
  }
  out.linted = !read.framework.empty();
  out.targets = targets_of(read, bench.options);
  out.diagnostics = judge_all(read, book, resume);
  if (read.source && out.linted) {
    const PhaseClock clock(book.profile(), "phase", "suppression comments");
    book.keep_selected(out.diagnostics);
    obey_comments(*read.source, book, bench.options, out.diagnostics, out.suppressed);
  }
  return out;
}

void take(Result& result, const std::string& path, FileResult file) {
  (file.linted ? result.files : result.skipped) += 1;
  if (file.linted) {
    result.linted.push_back(path);
  }
  append(result.diagnostics, std::move(file.diagnostics));
  std::move(file.targets.begin(), file.targets.end(), std::back_inserter(result.targets));
  std::move(file.suppressed.begin(), file.suppressed.end(), std::back_inserter(result.suppressed));
}

// In which order files are linted: what takes longest first, so that no thread is left with it at
// the end.
struct Order {
  std::vector<std::size_t> files;
  // So many of the first are Python files that import each other: parsed before anything else, so
  // that no thread waits for what another one parses.
  std::size_t ahead = 0;
};

Order order_of(const std::vector<FoundFile>& files, const Disk& disk) {
  constexpr std::size_t most_ahead = 1500;
  Order order;
  std::vector<std::uint64_t> sizes(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    order.files.push_back(i);
    if (files[i].kind == FileKind::python) {
      sizes[i] = disk.size(files[i].path).value_or(0) + 1;
      ++order.ahead;
    }
  }
  std::stable_sort(order.files.begin(), order.files.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  order.ahead = order.ahead > most_ahead ? 0 : order.ahead;
  return order;
}

void finish(Result& result, const RuleBook& book) {
  book.keep_selected(result.diagnostics);
  sort_diagnostics(result.diagnostics);
  sort_suppressed(result.suppressed);
  sort_targets(result);
  result.timings = book.profile().timings();
}

}  // namespace

Result lint(std::span<const std::string> paths, const Options& options) {
  const RuleBook book(options);
  const std::optional<checkpoint::ResumePoint> resume = resume_point(options);
  const RealDisk real;
  const MemoryDisk disk = disk_with_unsaved(options, real);
  Discovery found = discover(paths, disk);
  for (FoundFile& file : found.files) {
    file.named = file.named && !options.walked;
  }
  PinnedOptions pinned(disk, options);
  std::vector<const Options*> options_of;  // of each file
  for (const FoundFile& file : found.files) {
    options_of.push_back(&pinned.of(file.path));
  }
  std::vector<FileResult> results(found.files.size());
  const std::size_t cores =
      std::max(1u, options.jobs ? options.jobs : std::thread::hardware_concurrency());
  const Order order = order_of(found.files, disk);
  python::ParsedFiles parsed;
  std::atomic<std::size_t> next_ahead = cores > 1 ? 0 : order.ahead, next = 0;
  const auto work = [&] {
    std::map<const Options*, Bench> benches;
    const auto bench_of = [&](std::size_t i) -> Bench& {
      return benches.try_emplace(options_of[i], disk, *options_of[i], &parsed).first->second;
    };
    for (std::size_t at = next_ahead++; at < order.ahead; at = next_ahead++) {
      const std::size_t i = order.files[at];
      const auto text = disk.read(found.files[i].path);
      if (text && may_hold_configuration(*text)) {
        bench_of(i).python.parse_ahead(found.files[i].path);
      }
    }
    for (std::size_t at = next++; at < results.size(); at = next++) {
      const std::size_t i = order.files[at];
      if (auto text = disk.read(found.files[i].path)) {
        results[i] = lint_file(found.files[i], std::move(*text), bench_of(i), book, resume);
      } else {
        results[i].failure = "cannot be read";
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(cores, results.size()); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  Result out;
  for (const Discovery::Failure& failure : found.failures) {
    out.errors.push_back({failure.path, failure.message});
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    FileResult& file = results[i];
    if (!file.failure.empty()) {
      out.errors.push_back({found.files[i].path, file.failure});
      continue;
    }
    take(out, found.files[i].path, std::move(file));
  }
  out.notes = pinned.notes();
  finish(out, book);
  return out;
}

Result lint(std::string_view name, std::string_view text, const Options& options) {
  const RuleBook book(options);
  const std::optional<checkpoint::ResumePoint> resume = resume_point(options);
  const RealDisk real;
  const MemoryDisk disk = disk_with_unsaved(options, real);
  const FoundFile file{std::string(name), kind_of(name, text), true};
  Result out;
  PinnedOptions pinned(disk, options);
  Bench bench(disk, pinned.of(file.path));
  out.notes = pinned.notes();
  take(out, file.path, lint_file(file, std::string(text), bench, book, resume));
  finish(out, book);
  return out;
}

Result lint_arguments(std::span<const std::string> arguments, const Options& options) {
  const RuleBook book(options);
  const std::optional<checkpoint::ResumePoint> resume = resume_point(options);
  Sources sources;
  const RealDisk disk;
  PinnedOptions pinned(disk, options);
  const Options& with = pinned.of("arguments");  // of the folder that we are in
  ReadFile read = read_arguments(arguments, sources, with);
  Result out;
  out.files = 1;
  out.targets = targets_of(read, with);
  out.notes = pinned.notes();
  out.diagnostics = judge_all(read, book, resume);
  finish(out, book);
  return out;
}

}  // namespace shardlint
