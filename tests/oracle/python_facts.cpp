// Prints what the Python front end reads, one JSON line a configuration: for tests/oracle, which
// compares it with really running the functions. Not installed.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/python/python.h"
#include "schema/schema.h"

namespace {

using shardlint::Value;

nlohmann::json json_of(const Value& value) {
  if (const auto* unknown = value.if_unknown()) {
    nlohmann::json made{{"unknown", shardlint::reason_name(unknown->reason)},
                        {"detail", unknown->detail},
                        {"not_null", unknown->not_null}};
    for (const Value& one : unknown->domain) {
      made["domain"].push_back(json_of(one));
    }
    return made;
  }
  if (value.is_null())
    return nullptr;
  if (const auto* v = value.if_bool())
    return *v;
  if (const auto* v = value.if_integer())
    return *v;
  if (const auto* v = value.if_double()) {
    return std::isfinite(*v) ? nlohmann::json(*v) : nlohmann::json{{"float", value.text()}};
  }
  if (const auto* v = value.if_string())
    return *v;
  nlohmann::json made;
  if (const auto* list = value.if_list()) {
    made = nlohmann::json::array();
    for (const Value& one : *list)
      made.push_back(json_of(one));
  } else if (const auto* map = value.if_map()) {
    made = nlohmann::json::object();
    for (const auto& [key, one] : *map)
      made[key] = json_of(one);
  }
  return made;
}

std::string place(const shardlint::Span& span) {
  return span ? span.source->name() + ":" + std::to_string(span.source->line_of(span.begin)) : "";
}

}  // namespace

int main(int argc, char** argv) {
  shardlint::Sources sources;
  shardlint::PythonOptions options;
  options.sources = &sources;
  std::vector<std::string> files;
  bool quiet = false, chains = false, catalogue = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--source-root" && i + 1 < argc) {
      options.source_roots.push_back(argv[++i]);
    } else if (word == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (word == "--private") {
      options.private_functions = true;
    } else if (word == "--quiet") {
      quiet = true;
    } else if (word == "--chains") {
      chains = true;
    } else if (word == "--catalogue") {
      catalogue = true;
    } else {
      files.push_back(word);
    }
  }
  if (catalogue) {
    options.schema = shardlint::Schema::get("megatron-bridge");
  }
  const shardlint::RealDisk disk;
  const auto start = std::chrono::steady_clock::now();
  shardlint::PythonReader reader(options);
  std::size_t configurations = 0, facts = 0;
  for (const std::string& file : files) {
    auto text = disk.read(file);
    if (!text) {
      std::cerr << "cannot read " << file << "\n";
      return 2;
    }
    const shardlint::Source* known = sources.find(file);
    const shardlint::Source& source = known ? *known : sources.add(file, std::move(*text));
    std::vector<shardlint::Diagnostic> diagnostics;
    for (const shardlint::Facts& one : reader.read(source, diagnostics)) {
      ++configurations;
      facts += one.facts.size();
      if (quiet)
        continue;
      nlohmann::json made{
          {"file", file}, {"instance", one.instance}, {"closed", one.closed}, {"base", one.base}};
      for (const shardlint::Fact& fact : one.facts) {
        if (chains) {
          made["chain"][fact.key].push_back({{"value", json_of(fact.value)},
                                             {"at", place(fact.key_span)},
                                             {"origin", shardlint::origin_name(fact.origin)},
                                             {"note", fact.note}});
        } else {
          made["facts"][fact.key] = json_of(fact.value);
          if (fact.origin == shardlint::Origin::computed &&
              fact.note.starts_with("published configuration")) {
            made["published"].push_back(fact.key);
          }
        }
      }
      std::cout << made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    }
    for (const shardlint::Diagnostic& diagnostic : diagnostics) {
      nlohmann::json made{{"file", file},
                          {"code", diagnostic.code},
                          {"message", diagnostic.message},
                          {"line", diagnostic.where.begin.line}};
      if (!diagnostic.related.empty()) {
        made["related"] = diagnostic.related[0].where.file + ":" +
                          std::to_string(diagnostic.related[0].where.begin.line);
      }
      std::cout << made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "%zu configurations, %zu facts, %zu files followed, %.3f s\n",
               configurations, facts, reader.files_read(), took.count());
}
