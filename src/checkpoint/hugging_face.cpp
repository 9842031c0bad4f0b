// A Hugging Face directory: the files together, their index, and what config.json says of them.
#include "checkpoint/hugging_face.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/file.h"
#include "checkpoint/safetensors.h"

namespace shardlint::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t largest_index = 100'000'000;

// model-00002-of-00005.safetensors
struct Series {
  std::string stem;
  long long number = 0, of = 0;
};
std::optional<Series> series_of(const std::string& name) {
  const std::size_t of = name.rfind("-of-"), dot = name.rfind(".safetensors");
  const std::size_t dash =
      of == std::string::npos || of == 0 ? std::string::npos : name.rfind('-', of - 1);
  if (dash == std::string::npos || dot == std::string::npos || dot < of) {
    return std::nullopt;
  }
  const auto number = to_integer(name.substr(dash + 1, of - dash - 1)),
             count = to_integer(name.substr(of + 4, dot - of - 4));
  return number && count ? std::optional(Series{name.substr(0, dash), *number, *count})
                         : std::nullopt;
}

class HuggingFace {
 public:
  explicit HuggingFace(Checkpoint& into) : out_(into) {}

  void open() {
    std::map<std::string, std::pair<long long, std::set<long long>>> series;
    for (const std::string& name : RealDisk().list(out_.directory)) {
      if (!name.ends_with(".safetensors")) {
        continue;
      }
      if (const std::optional<Series> member = series_of(name)) {
        auto& [count, seen] = series[member->stem];
        count = std::max(count, member->of);
        seen.insert(member->number);
      }
      add_safetensors(name, out_);
    }
    for (const auto& [stem, members] : series) {
      for (long long i = 1; i <= std::min<long long>(members.first, 100'000); ++i) {
        if (!members.second.contains(i)) {
          add(Fault::index_series, out_.directory, "",
              stem + ": number " + std::to_string(i) + " of " + std::to_string(members.first) +
                  " is not there");
          break;
        }
      }
    }
    duplicates();
    index();
    config();
    out_.has_metadata = true;
  }

 private:
  void add(Fault fault, const std::string& file, const std::string& tensor, std::string message,
           std::optional<Severity> severity = {}) {
    out_.findings.push_back({fault, file, {}, tensor, std::move(message), severity});
  }

  void duplicates() {
    std::stable_sort(out_.tensors.begin(), out_.tensors.end(),
                     [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
    if (out_.facts.contains("unconsolidated")) {
      return;
    }
    for (std::size_t i = 1; i < out_.tensors.size(); ++i) {
      const Tensor &a = out_.tensors[i - 1], &b = out_.tensors[i];
      if (a.name == b.name && !a.chunks.empty() && !b.chunks.empty() &&
          a.chunks[0].place.file != b.chunks[0].place.file) {
        add(Fault::index_duplicate, out_.path(b.chunks[0].place.file), b.name,
            "is also in " + out_.files[a.chunks[0].place.file]);
      }
    }
  }

  std::optional<Json> read_json(const std::string& name, Fault fault) {
    const std::string path = join_path(out_.directory, name);
    if (!stat_file(path)) {
      return std::nullopt;
    }
    const std::optional<std::string> text = read_small_file(path, largest_index);
    const Json parsed = text && !nested_too_deeply(*text) ? Json::parse(*text, nullptr, false)
                                                          : Json(Json::value_t::discarded);
    if (parsed.is_discarded() || !parsed.is_object()) {
      add(fault, path, "", "is no JSON object");
      return std::nullopt;
    }
    return parsed;
  }

  void index() {
    const std::string name = "model.safetensors.index.json", path = join_path(out_.directory, name);
    const std::optional<Json> index = read_json(name, Fault::index_unreadable);
    if (!index) {
      return;
    }
    if (!index->contains("weight_map") || !(*index)["weight_map"].is_object()) {
      add(Fault::index_unreadable, path, "", "has no weight_map");
      return;
    }
    std::map<std::string, std::set<std::string>> in_file;
    std::uint64_t total = 0;
    for (const Tensor& tensor : out_.tensors) {
      if (!tensor.chunks.empty()) {
        in_file[out_.files[tensor.chunks[0].place.file]].insert(tensor.name);
        total += tensor.chunks[0].place.length;
      }
    }
    std::set<std::string> missing_files;
    std::set<std::string> mapped;
    for (const auto& [tensor, file] : (*index)["weight_map"].items()) {
      const std::string where = file.is_string() ? file.get<std::string>() : "";
      mapped.insert(tensor);
      if (where.empty() || where.front() == '/' || where.find("..") != std::string::npos) {
        add(Fault::path_escapes, path, tensor, "the index names the file " + where);
      } else if (std::find(out_.files.begin(), out_.files.end(), where) == out_.files.end()) {
        if (missing_files.insert(where).second) {
          add(Fault::index_file_missing, join_path(out_.directory, where), tensor,
              "the index puts this tensor into a file that is not there");
        }
      } else if (!in_file[where].contains(tensor)) {
        add(Fault::index_tensor_missing, join_path(out_.directory, where), tensor,
            "the index puts this tensor into a file that does not hold it");
      }
    }
    for (const Tensor& tensor : out_.tensors) {
      if (!mapped.contains(tensor.name)) {
        add(Fault::index_tensor_missing, path, tensor.name,
            "is in a file but not in the index, so it is not loaded", Severity::warning);
      }
    }
    if (index->contains("metadata") && (*index)["metadata"].is_object() &&
        (*index)["metadata"].contains("total_size") &&
        (*index)["metadata"]["total_size"].is_number_unsigned()) {
      if (const auto said = (*index)["metadata"]["total_size"].get<std::uint64_t>();
          said != total && missing_files.empty()) {
        add(Fault::index_total, path, "",
            "total_size is " + std::to_string(said) + ", the tensors have " +
                std::to_string(total) + " bytes",
            Severity::info);
      }
    }
  }

  void config() {
    const std::optional<Json> config = read_json("config.json", Fault::record_file_unreadable);
    if (!config) {
      return;
    }
    const auto number = [&](const char* key) -> std::optional<std::int64_t> {
      return config->contains(key) && (*config)[key].is_number_integer()
                 ? std::optional((*config)[key].get<std::int64_t>())
                 : std::nullopt;
    };
    const std::string path = join_path(out_.directory, "config.json");
    std::int64_t last_layer = -1;
    for (const Tensor& tensor : out_.tensors) {
      if (tensor.name.starts_with("model.layers.")) {
        last_layer = std::max<std::int64_t>(
            last_layer,
            to_integer(tensor.name.substr(13, tensor.name.find('.', 13) - 13)).value_or(-1));
      }
    }
    if (const auto layers = number("num_hidden_layers");
        layers && last_layer >= 0 && last_layer + 1 < *layers) {
      add(Fault::config_disagrees, path, "",
          "num_hidden_layers is " + std::to_string(*layers) + ", the weights have " +
              std::to_string(last_layer + 1) + " layers");
    }
    if (const Tensor* embedding = out_.find("model.embed_tokens.weight");
        embedding != nullptr && embedding->shape.size() == 2) {
      const auto vocabulary = number("vocab_size"), hidden = number("hidden_size");
      if (vocabulary && embedding->shape[0] != *vocabulary) {
        add(Fault::config_disagrees, path, embedding->name,
            "vocab_size is " + std::to_string(*vocabulary) + ", the embedding has " +
                std::to_string(embedding->shape[0]) + " rows");
      }
      if (hidden && embedding->shape[1] != *hidden) {
        add(Fault::config_disagrees, path, embedding->name,
            "hidden_size is " + std::to_string(*hidden) + ", the embedding has " +
                std::to_string(embedding->shape[1]) + " columns");
      }
      const bool tied = config->value("tie_word_embeddings", false);
      if (config->contains("tie_word_embeddings") && !tied &&
          out_.find("lm_head.weight") == nullptr) {
        add(Fault::config_disagrees, path, "lm_head.weight",
            "is not there, and tie_word_embeddings is false");
      }
    }
  }

  Checkpoint& out_;
};

}  // namespace

void open_hugging_face(Checkpoint& into) {
  try {
    HuggingFace(into).open();
  } catch (const Json::exception& error) {
    into.findings.push_back({Fault::index_unreadable, into.directory, {}, "", error.what(), {}});
  }
}

}  // namespace shardlint::checkpoint
