#include "cli/verify_hooks.h"

#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "diagnostics/sort.h"
#include "discover/discover.h"
#include "lint/judge.h"
#include "lint/units.h"
#include "report/report.h"
#include "schema/schema.h"
#include "shardlint/checkpoint.h"

namespace shardlint {
namespace {

LintedConfig read(const std::vector<std::string>& paths, Sources& sources, const Options& options) {
  const RuleBook book(options);
  const RealDisk disk;
  Bench bench(disk, options);
  const Discovery found = discover(paths, disk);
  if (!found.failures.empty()) {
    throw Error(found.failures[0].path + ": " + found.failures[0].message);
  }
  LintedConfig out;
  for (const FoundFile& file : found.files) {
    auto text = disk.read(file.path);
    if (!text) {
      throw Error(file.path + ": cannot be read");
    }
    ReadFile content = read_file(file, std::move(*text), sources, bench);
    std::move(content.owners.begin(), content.owners.end(), std::back_inserter(out.owners));
    std::move(content.diagnostics.begin(), content.diagnostics.end(),
              std::back_inserter(out.diagnostics));
    for (const Unit& unit : content.units) {
      Config after = unit.config;
      std::vector<Diagnostic> diagnostics = judge(unit, book, &after);
      std::move(diagnostics.begin(), diagnostics.end(), std::back_inserter(out.diagnostics));
      out.configs.push_back(std::move(after));
    }
  }
  std::erase_if(out.diagnostics,
                [&](const Diagnostic& d) { return !book.selected(d.code, d.name); });
  sort_diagnostics(out.diagnostics);
  return out;
}

// The first key of the rule that is written in the configuration.
Location place_in(const rules::Rule& rule, const Config& config) {
  const Schema* schema = Schema::get(config.framework);
  for (const rules::Case& c : rule.cases) {
    if (c.framework != config.framework) {
      continue;
    }
    for (const rules::Expr* expression : {&c.require, &c.when}) {
      for (const std::string_view key : rules::keys_of(*expression)) {
        std::vector<std::string_view> names = {key};
        if (schema) {
          const auto spellings = schema->spellings(key);
          names.insert(names.end(), spellings.begin(), spellings.end());
        }
        for (const std::string_view name : names) {
          const Entry* entry = config.find(name);
          if (entry && entry->written()) {
            return locate(config.place(name));
          }
        }
      }
    }
  }
  return locate(config.anchor);
}

std::optional<Diagnostic> runtime_error(std::string_view line, const Config* config,
                                        const RuleBook& book) {
  for (const rules::Rule& rule : book.rules().rules) {
    for (const rules::Text text : rule.runtime_errors) {
      if (text.size() >= 12 && line.find(text) != std::string_view::npos) {
        Diagnostic d;
        d.code = rule.id;
        d.name = rule.name;
        d.severity = rule.severity;
        d.message = std::string(rule.summary);
        d.help = rule.help;
        d.where = config ? place_in(rule, *config) : Location{};
        d.framework = config ? config->framework : "";
        return d;
      }
    }
  }
  return {};
}

}  // namespace

VerifyHooks verify_hooks(const Options& options) {
  VerifyHooks hooks;
  hooks.read = [&options](const std::vector<std::string>& paths, Sources& sources) {
    return read(paths, sources, options);
  };
  const auto book = std::make_shared<const RuleBook>(options);
  hooks.runtime_error = [book](std::string_view line, const Config* config) {
    return runtime_error(line, config, *book);
  };
  hooks.check_checkpoint = [](const std::string& path) {
    CheckpointOptions deep;
    deep.deep = true;
    return check_checkpoint(path, deep);
  };
  hooks.render = [](const std::vector<Diagnostic>& diagnostics, const std::string& format) {
    Report report;
    report.diagnostics = diagnostics;
    report.text = [](const std::string& path) { return RealDisk().read(path); };
    return find_format(format).render(report, Look{});
  };
  return hooks;
}

}  // namespace shardlint
