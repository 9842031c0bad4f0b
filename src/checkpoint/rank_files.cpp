#include "checkpoint/rank_files.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/file.h"
#include "checkpoint/torch_file.h"

namespace shardlint::checkpoint {
namespace {

void sort_tensors(Checkpoint& into) {
  std::stable_sort(into.tensors.begin(), into.tensors.end(),
                   [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
}

struct RankFile {
  std::string family;  // model, optim, extra_state
  long long world = 0, rank = 0;
};
std::optional<RankFile> rank_file(std::string_view name) {
  const std::size_t world = name.find("_world_size_"), rank = name.find("_rank_");
  if (world == std::string_view::npos || rank == std::string_view::npos || rank < world ||
      !name.ends_with(".pt")) {
    return std::nullopt;
  }
  const auto w = to_integer(name.substr(world + 12, rank - world - 12)),
             r = to_integer(name.substr(rank + 6, name.size() - rank - 9));
  return w && r && *w > 0 && *r >= 0
             ? std::optional(RankFile{std::string(name.substr(0, world)), *w, *r})
             : std::nullopt;
}

// Pieces of one name that lie on consecutive ranks become one tensor where the whole shape is known
// and says along which dimension they were cut. Replicated ones are the same on all ranks: one is
// kept. Of others every rank's piece is a tensor of its own.
void join_ranks(Checkpoint& into, std::map<std::string, std::vector<Tensor>> by_name,
                bool complete) {
  for (auto& [name, pieces] : by_name) {
    const auto whole = into.whole_shapes.find(name);
    if (whole == into.whole_shapes.end() || !complete) {
      for (std::size_t rank = 0; rank < pieces.size(); ++rank) {
        pieces[rank].name = "rank_" + std::to_string(rank) + "/" + name;
        into.tensors.push_back(std::move(pieces[rank]));
      }
      continue;
    }
    Tensor joined{name, pieces.front().dtype, whole->second, {}};
    std::optional<std::size_t> axis;
    for (const Tensor& piece : pieces) {
      for (std::size_t d = 0; d < joined.shape.size() && piece.shape.size() == joined.shape.size();
           ++d) {
        if (piece.shape[d] != joined.shape[d]) {
          axis = d;
        }
      }
    }
    std::int64_t offset = 0;
    for (Tensor& piece : pieces) {
      if (piece.chunks.empty() || piece.shape.size() != joined.shape.size()) {
        continue;
      }
      Chunk& chunk = piece.chunks.front();
      if (axis) {
        chunk.offsets[*axis] = offset;
        offset += piece.shape[*axis];
      }
      joined.chunks.push_back(std::move(chunk));
      if (!axis) {
        break;
      }
    }
    into.tensors.push_back(std::move(joined));
  }
}

}  // namespace

void open_legacy(Checkpoint& into) {
  std::set<std::string> kinds;
  std::map<std::string, std::set<std::string>> files;
  for (const std::string& name : RealDisk().list(into.directory)) {
    if (!name.starts_with("mp_rank_")) {
      continue;
    }
    for (const std::string& file : RealDisk().list(join_path(into.directory, name))) {
      if (file.ends_with(".pt")) {
        kinds.insert(file);
        files[name].insert(file);
        add_torch_file(name + "/" + file,
                       name + "/" + (file == "model_optim_rng.pt" ? "" : file + "/"), into);
      }
    }
    files[name];
  }
  for (const auto& [directory, there] : files) {
    for (const std::string& kind : kinds) {
      if (!there.contains(kind) && (kind == "model_optim_rng.pt" || kind == "distrib_optim.pt")) {
        into.findings.push_back({Fault::rank_files_missing,
                                 join_path(join_path(into.directory, directory), kind),
                                 {},
                                 "",
                                 "other ranks have this file, this one has not",
                                 {}});
      }
    }
  }
  into.facts["model parallel ranks"] = std::to_string(files.size());
  into.has_metadata |= !files.empty();
  sort_tensors(into);
}

void open_fsdp_ranks(Checkpoint& into) {
  std::map<std::string, std::map<long long, std::set<long long>>> ranks;  // family, world, ranks
  std::map<std::string, std::vector<Tensor>> pieces;
  std::vector<std::pair<RankFile, std::string>> files;
  for (const std::string& name : RealDisk().list(into.directory)) {
    if (const std::optional<RankFile> file = rank_file(name)) {
      ranks[file->family][file->world].insert(file->rank);
      files.emplace_back(*file, name);
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.family, a.first.rank) < std::tie(b.first.family, b.first.rank);
  });
  for (const auto& [file, name] : files) {
    const std::size_t before = into.tensors.size();
    add_torch_file(name,
                   file.family == "model"   ? "model."
                   : file.family == "optim" ? "optim."
                                            : "extra_state.",
                   into);
    for (std::size_t i = before; i < into.tensors.size(); ++i) {
      pieces[into.tensors[i].name].push_back(std::move(into.tensors[i]));
    }
    into.tensors.resize(before);
  }
  std::set<long long> worlds;
  for (const auto& [family, by_world] : ranks) {
    for (const auto& [world, there] : by_world) {
      worlds.insert(world);
      for (long long rank = 0; rank < std::min<long long>(world, 1 << 20); ++rank) {
        if (!there.contains(rank)) {
          const std::string name = family + "_world_size_" + std::to_string(world) + "_rank_" +
                                   std::to_string(rank) + ".pt";
          into.findings.push_back({Fault::rank_files_missing,
                                   join_path(into.directory, name),
                                   {},
                                   "",
                                   std::to_string(there.size()) + " of " + std::to_string(world) +
                                       " ranks have a file " + family,
                                   {}});
          break;
        }
      }
    }
  }
  if (worlds.size() > 1) {
    into.findings.push_back({Fault::world_size_mixed,
                             into.directory,
                             {},
                             "",
                             "there are files of " + std::to_string(*worlds.begin()) + " and of " +
                                 std::to_string(*worlds.rbegin()) + " ranks",
                             {}});
  }
  if (!worlds.empty()) {
    into.facts["world size"] = std::to_string(*worlds.rbegin());
  }
  const std::string path = join_path(into.directory, "fsdp_config.json");
  if (const std::optional<std::string> text = read_small_file(path, 1 << 20)) {
    const nlohmann::json config = nlohmann::json::parse(*text, nullptr, false);
    if (!config.is_object() || !config.contains("world_size") ||
        !config["world_size"].is_number_integer()) {
      into.findings.push_back(
          {Fault::record_file_unreadable, path, {}, "", "names no world_size", {}});
    } else if (!worlds.contains(config["world_size"].get<long long>())) {
      into.findings.push_back(
          {Fault::records_disagree,
           path,
           {},
           "",
           "world_size is " + std::to_string(config["world_size"].get<long long>()) +
               ", the files are of " + std::to_string(worlds.empty() ? 0 : *worlds.rbegin()),
           {}});
    }
  }
  const bool complete =
      std::none_of(into.findings.begin(), into.findings.end(), [](const Finding& f) {
        return f.fault == Fault::rank_files_missing || f.fault == Fault::world_size_mixed;
      });
  join_ranks(into, std::move(pieces), complete);
  into.has_metadata |= !files.empty();
  sort_tensors(into);
}

}  // namespace shardlint::checkpoint
