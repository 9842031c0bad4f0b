#include "checkpoint/safetensors.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/file.h"

namespace shardlint::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t largest_header = 100'000'000;  // as the reference reader
class Header {
 public:
  Header(std::uint64_t values, std::uint64_t values_at, std::uint32_t file, const std::string& path,
         Checkpoint& into)
      : values_(values), values_at_(values_at), file_(file), path_(path), out_(into) {}

  void parse(std::string_view text) {
    if (text.empty() || text.front() != '{') {
      add(Fault::safetensors_header, "", "the header does not begin with {");
      return;
    }
    if (nested_too_deeply(text)) {
      add(Fault::safetensors_header, "", "the header is nested too deeply");
      return;
    }
    std::size_t duplicates = 0;
    const Json header = Json::parse(
        text.begin(), text.end(),
        [&](int depth, Json::parse_event_t event, Json& parsed) {
          if (event == Json::parse_event_t::key && depth == 1) {
            duplicates += !names_.insert(parsed.get<std::string>()).second;
          }
          return true;
        },
        false);
    if (header.is_discarded() || !header.is_object()) {
      add(Fault::safetensors_header, "", "the header is no JSON object");
      return;
    }
    if (duplicates != 0) {
      add(Fault::safetensors_header, "", std::to_string(duplicates) + " names appear twice");
    }
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        metadata(entry);
      } else {
        tensor(name, entry);
      }
    }
    layout();
  }

 private:
  void add(Fault fault, const std::string& tensor, std::string message) {
    out_.findings.push_back({fault, path_, {}, tensor, std::move(message), {}});
  }

  void metadata(const Json& entry) {
    if (!entry.is_object()) {
      add(Fault::safetensors_header, "", "__metadata__ is no object");
      return;
    }
    if (entry.contains("DCP_SHARDING_INFO") && file_name(path_).starts_with("shard-")) {
      out_.facts["unconsolidated"] = "yes";
      add(Fault::unconsolidated, "", "holds shards of a distributed save");
    }
  }

  void tensor(const std::string& name, const Json& entry) {
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
        !entry.contains("shape") || !entry["shape"].is_array() || entry["shape"].size() > 32 ||
        !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
        entry["data_offsets"].size() != 2) {
      add(Fault::safetensors_header, name, "lacks dtype, shape or data_offsets");
      return;
    }
    Tensor made;
    made.name = name;
    made.dtype = dtype_of_safetensors(entry["dtype"].get<std::string>());
    for (const Json& size : entry["shape"]) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX) {
        add(Fault::safetensors_header, name, "has a size that is no natural number");
        return;
      }
      made.shape.push_back(size.get<std::int64_t>());
    }
    const Json &first = entry["data_offsets"][0], &last = entry["data_offsets"][1];
    if (!first.is_number_unsigned() || !last.is_number_unsigned() ||
        first.get<std::uint64_t>() > last.get<std::uint64_t>()) {
      add(Fault::safetensors_header, name, "its data_offsets are not two rising numbers");
      return;
    }
    const std::uint64_t begin = first.get<std::uint64_t>(), end = last.get<std::uint64_t>();
    if (made.dtype == DType::unknown) {
      out_.facts["unknown element type"] = entry["dtype"].get<std::string>();
    } else if (const auto elements = volume(made.shape);
               !elements || checked_mul(*elements, size_of(made.dtype)) != end - begin) {
      add(Fault::item_size, name,
          std::to_string(end - begin) + " bytes stand where " + text_of(made.shape) + " of " +
              std::string(name_of(made.dtype)) + " is due");
      return;
    }
    spans_.push_back({begin, end, name});
    if (end > values_) {
      add(Fault::safetensors_layout, name,
          "its bytes end at " + std::to_string(end) + " of " + std::to_string(values_));
    }
    made.chunks.push_back({Shape(made.shape.size(), 0),
                           made.shape,
                           {file_, values_at_ + std::min(begin, values_), end - begin},
                           true,
                           false});
    out_.tensors.push_back(std::move(made));
  }

  struct Span {
    std::uint64_t begin, end;
    std::string name;
  };
  void layout() {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    std::uint64_t at = 0;
    for (const Span& span : spans_) {
      if (span.begin != at) {
        add(Fault::safetensors_layout, span.name,
            (span.begin > at ? "there is a hole before it: it begins at "
                             : "it overlaps the one before it: it begins at ") +
                std::to_string(span.begin) + " instead of " + std::to_string(at));
        return;
      }
      at = span.end;
    }
    if (at < values_) {
      add(Fault::safetensors_layout, "",
          std::to_string(values_ - at) + " bytes after the last tensor");
    }
  }

  std::uint64_t values_, values_at_;
  std::uint32_t file_;
  const std::string& path_;
  Checkpoint& out_;
  std::vector<Span> spans_;
  std::set<std::string> names_;
};

}  // namespace

bool nested_too_deeply(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      quoted = text[i] != '"';
      i += text[i] == '\\';
      continue;
    }
    quoted = text[i] == '"';
    depth += text[i] == '{' || text[i] == '[';
    depth -= text[i] == '}' || text[i] == ']';
    if (depth > 64) {
      return true;
    }
  }
  return false;
}

void parse_safetensors_header(std::string_view header, std::uint64_t values,
                              std::uint64_t values_at, std::uint32_t file, const std::string& path,
                              Checkpoint& into) {
  try {
    Header(values, values_at, file, path, into).parse(header);
  } catch (const Json::exception& error) {
    into.findings.push_back({Fault::safetensors_header, path, {}, "", error.what(), {}});
  }
}

void add_safetensors(const std::string& file, Checkpoint& into) {
  const std::string path = join_path(into.directory, file);
  const auto index = static_cast<std::uint32_t>(into.files.size());
  into.files.push_back(file);
  try {
    const File opened(path);
    const auto add = [&](Fault fault, std::string message) {
      into.findings.push_back({fault, path, {}, "", std::move(message), {}});
    };
    if (opened.size() < 8) {
      return add(opened.size() == 0 ? Fault::file_empty : Fault::safetensors_header,
                 std::to_string(opened.size()) + " bytes are too few");
    }
    const std::uint64_t length = load_le<std::uint64_t>(opened.read_text(0, 8).data());
    if (length > largest_header || length > opened.size() - 8) {
      const bool pointer = opened.read_text(0, 7) == "version";
      return add(pointer ? Fault::file_pointer : Fault::safetensors_header,
                 pointer ? "is a placeholder of Git LFS"
                         : "a header of " + std::to_string(length) + " bytes does not fit into " +
                               std::to_string(opened.size()));
    }
    parse_safetensors_header(opened.read_text(8, length), opened.size() - 8 - length, 8 + length,
                             index, path, into);
  } catch (const Error& error) {
    into.findings.push_back({Fault::unreadable_bytes, path, {}, "", error.what(), {}});
  }
}

}  // namespace shardlint::checkpoint
