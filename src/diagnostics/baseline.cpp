#include "diagnostics/baseline.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"

namespace shardlint {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

std::string folder_of(const std::string& path) {
  return fs::absolute(path).lexically_normal().parent_path().string();
}

}  // namespace

Baseline Baseline::read(std::string_view text, const std::string& path) {
  Baseline out;
  out.folder_ = folder_of(path);
  try {
    const json root = json::parse(text);
    if (root.at("version") != 1) {
      throw Error(fmt::format("{}: a baseline of another version", path));
    }
    for (const json& item : root.at("findings")) {
      const Entry entry{item.at("path"), item.at("code"), item.at("case"), item.at("instance"),
                        item.at("key")};
      out.counts_[entry] += item.at("count").get<std::size_t>();
    }
  } catch (const json::exception& error) {
    throw Error(fmt::format("{} is not a baseline: {}", path, error.what()));
  }
  return out;
}

Baseline Baseline::of(const std::vector<Diagnostic>& diagnostics, const std::string& path) {
  Baseline out;
  out.folder_ = folder_of(path);
  for (const Diagnostic& d : diagnostics) {
    ++out.counts_[out.entry_of(d)];
  }
  return out;
}

Baseline::Entry Baseline::entry_of(const Diagnostic& d) const {
  const std::string path =
      d.where.file.empty()
          ? ""
          : fs::absolute(d.where.file).lexically_normal().lexically_relative(folder_).string();
  return {path, d.code, d.case_id, d.instance, d.key.path};
}

std::size_t Baseline::apply(std::vector<Diagnostic>& diagnostics,
                            std::vector<Suppressed>& suppressed) const {
  std::map<Entry, std::size_t> left = counts_;
  std::vector<Diagnostic> kept;
  for (Diagnostic& d : diagnostics) {
    const auto known = left.find(entry_of(d));
    if (known == left.end() || known->second == 0) {
      kept.push_back(std::move(d));
    } else {
      --known->second;
      suppressed.push_back({std::move(d), "baseline", ""});
    }
  }
  diagnostics = std::move(kept);
  return static_cast<std::size_t>(
      std::count_if(left.begin(), left.end(), [](const auto& entry) { return entry.second > 0; }));
}

Baseline Baseline::pruned(const std::vector<Diagnostic>& all) const {
  std::map<Entry, std::size_t> met;
  for (const Diagnostic& d : all) {
    ++met[entry_of(d)];
  }
  Baseline out;
  out.folder_ = folder_;
  for (const auto& [entry, count] : counts_) {
    if (const auto at = met.find(entry); at != met.end()) {
      out.counts_[entry] = std::min(count, at->second);
    }
  }
  return out;
}

std::string Baseline::text() const {
  json findings = json::array();
  for (const auto& [entry, count] : counts_) {
    findings.push_back({{"path", entry.path},
                        {"code", entry.code},
                        {"case", entry.case_id},
                        {"instance", entry.instance},
                        {"key", entry.key},
                        {"count", count}});
  }
  const json root = {{"version", 1}, {"findings", std::move(findings)}};
  return root.dump(1) + "\n";
}

std::size_t Baseline::size() const {
  std::size_t out = 0;
  for (const auto& [entry, count] : counts_) {
    out += count;
  }
  return out;
}

}  // namespace shardlint
