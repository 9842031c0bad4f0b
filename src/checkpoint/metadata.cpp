#include "checkpoint/metadata.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "checkpoint/globals.h"
#include "checkpoint/pickle.h"

namespace shardlint::checkpoint {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr std::size_t most_dimensions = 32;

// Where the bytes of one piece are said to lie.
struct Storage {
  Place place;
  std::optional<std::int64_t> index;
  bool transformed = false, used = false;
};

// (key, offset) as one string: lengths cannot be confused because offsets come last, in binary.
std::string storage_key(std::string_view name, const std::optional<Shape>& offsets) {
  std::string key(name);
  key += '\0';
  if (offsets) {
    key.append(reinterpret_cast<const char*>(offsets->data()),
               offsets->size() * sizeof(std::int64_t));
  } else {
    key += "bytes";
  }
  return key;
}

class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name, Checkpoint& into)
      : bytes_(bytes), name_(name), out_(into) {}

  void parse() {
    try {
      pickle_ = pickle::run(bytes_);
    } catch (const pickle::Fault& fault) {
      add(Fault::metadata_unreadable, "", fault.what(), fault.offset);
      return;
    }
    if (pickle_.end != bytes_.size()) {
      add(Fault::metadata_unreadable, "",
          std::to_string(bytes_.size() - pickle_.end) + " bytes after the end of the pickle",
          pickle_.end);
    }
    for (Finding& finding : judge_globals(pickle_, PickleRole::metadata, name_, 0, "")) {
      out_.findings.push_back(std::move(finding));
    }
    root();
    std::sort(out_.tensors.begin(), out_.tensors.end(),
              [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
    std::sort(out_.items.begin(), out_.items.end(),
              [](const Item& a, const Item& b) { return a.name < b.name; });
  }

 private:
  void add(Fault fault, std::string_view tensor, std::string message,
           std::optional<std::uint64_t> offset = {}) {
    out_.findings.push_back({fault, name_, offset, std::string(tensor), std::move(message), {}});
  }

  // -- the shapes of Python objects ----------------------------------------------------------
  std::string_view class_of(const Value& value) const {
    const pickle::Object* object = pickle_.object(value);
    const pickle::Global* global = object != nullptr ? pickle_.global(object->callable) : nullptr;
    return global != nullptr ? global->name : std::string_view();
  }
  // A field of an object of a few fields. The bound keeps a hostile pickle, in which many objects
  // share one long state, from costing their product.
  const Value* field(const Value& object, std::string_view name) const {
    const pickle::Object* made = pickle_.object(object);
    if (made == nullptr || !made->has_state || pickle_.size(made->state) > 16) {
      return nullptr;
    }
    return pickle_.find(made->state, name);
  }
  std::optional<Shape> shape(const Value* value) const {
    if (value == nullptr) {
      return std::nullopt;
    }
    if (class_of(*value) == "Size") {  // torch.Size(((4, 4),))
      const Value& arguments = pickle_.object(*value)->arguments;
      if (arguments.kind != Kind::tuple || arguments.count != 1) {
        return std::nullopt;
      }
      value = pickle_.elements(arguments);
    }
    if (value->kind != Kind::tuple && value->kind != Kind::list) {
      return std::nullopt;
    }
    const std::size_t count = pickle_.size(*value);
    if (count > most_dimensions) {
      return std::nullopt;
    }
    Shape made(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Value& element = pickle_.elements(*value)[i];
      if (element.kind != Kind::integer || element.integer < 0) {
        return std::nullopt;
      }
      made[i] = element.integer;
    }
    return made;
  }
  std::optional<std::uint64_t> unsigned_field(const Value& object, std::string_view name) const {
    const Value* value = field(object, name);
    if (value == nullptr || value->kind != Kind::integer || value->integer < 0) {
      return std::nullopt;
    }
    return static_cast<std::uint64_t>(value->integer);
  }

  // -- Metadata ------------------------------------------------------------------------------
  void root() {
    const std::string_view made = class_of(pickle_.root);
    if (made == "MCoreMetadata") {
      out_.facts["metadata class"] =
          "megatron.core.dist_checkpointing.strategies.torch.MCoreMetadata";
      out_.findings.push_back(
          {Fault::version_limits,
           name_,
           {},
           "",
           "was written by Megatron-Core 0.15 and can be opened only where megatron is installed",
           Severity::warning});
    } else if (made != "Metadata") {
      add(Fault::metadata_field, "",
          made.empty() ? "is a pickle, but of no object of class Metadata"
                       : "is a pickle of class " + std::string(made) + " instead of Metadata");
      return;
    }
    for (const pickle::Global& global : pickle_.globals) {
      if (global.module == "pathlib._local") {
        out_.findings.push_back({Fault::version_limits, name_, global.offset, "",
                                 "names pathlib._local, so Python 3.12 and older cannot load it",
                                 Severity::warning});
      }
    }
    const Value* described = field(pickle_.root, "state_dict_metadata");
    const Value* storage = field(pickle_.root, "storage_data");
    if (described == nullptr || pickle_.pairs(*described) == nullptr || storage == nullptr ||
        pickle_.pairs(*storage) == nullptr) {
      add(Fault::metadata_field, "", "has no dictionaries state_dict_metadata and storage_data");
      return;
    }
    out_.has_metadata = true;
    read_storage(*pickle_.pairs(*storage));
    read_entries(*pickle_.pairs(*described));
    for (const auto& [key, entry] : storage_) {
      if (!entry.used) {
        add(Fault::storage_orphan, key.substr(0, key.find('\0')),
            "bytes are recorded in " + out_.files[entry.place.file] +
                ", but no tensor has this piece");
      }
    }
    planner(*pickle_.pairs(*described));
    notes();
  }

  void read_storage(const std::vector<Value>& pairs) {
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Value* fqn = field(pairs[i], "fqn");
      const Value* offset = field(pairs[i], "offset");
      const Value* path = field(pairs[i + 1], "relative_path");
      const std::optional<std::uint64_t> begin = unsigned_field(pairs[i + 1], "offset"),
                                         length = unsigned_field(pairs[i + 1], "length");
      const std::string_view name = fqn != nullptr ? pickle_.text(*fqn) : std::string_view();
      const bool whole = offset == nullptr || offset->kind == Kind::none;
      const std::optional<Shape> at = whole ? std::nullopt : shape(offset);
      if (fqn == nullptr || fqn->kind != Kind::text || path == nullptr ||
          path->kind != Kind::text || !begin || !length || (!whole && !at)) {
        add(Fault::metadata_field, name,
            "its storage entry " + std::to_string(i / 2) + " is not complete");
        continue;
      }
      Storage entry;
      entry.place = {file(pickle_.text(*path)), *begin, *length};
      if (const Value* index = field(pairs[i], "index"); index != nullptr) {
        entry.index = pickle_.integer(*index);
      }
      const Value* transforms = field(pairs[i + 1], "transform_descriptors");
      entry.transformed = transforms != nullptr && pickle_.size(*transforms) != 0;
      if (!storage_.try_emplace(storage_key(name, at), entry).second) {
        add(Fault::metadata_field, name,
            "two storage entries for one piece" + (at ? " at " + text_of(*at) : std::string()));
      }
    }
  }

  std::uint32_t file(std::string_view path) {
    const auto [found, fresh] =
        files_.try_emplace(std::string(path), static_cast<std::uint32_t>(out_.files.size()));
    if (fresh) {
      out_.files.emplace_back(path);
      const std::vector<std::string_view> parts = split(path, '/');
      if (path.empty() || path.front() == '/' ||
          std::find(parts.begin(), parts.end(), "..") != parts.end() ||
          path.find('\0') != std::string_view::npos) {
        add(Fault::path_escapes, "",
            "the path " + std::string(path) + " is absolute or leads upwards");
        out_.files.back() = "";  // never opened
      }
    }
    return found->second;
  }

  void read_entries(const std::vector<Value>& pairs) {
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string name(pickle_.text(pairs[i]));
      if (pairs[i].kind != Kind::text) {
        add(Fault::metadata_field, "",
            "entry " + std::to_string(i / 2) + " has a key that is no text");
      } else if (class_of(pairs[i + 1]) == "BytesStorageMetadata") {
        Item item{name, {}, false};
        if (Storage* entry = take(name, std::nullopt)) {
          item.place = entry->place;
          item.transformed = entry->transformed;
        } else {
          add(Fault::storage_missing, name, "no file is recorded for this object");
        }
        out_.items.push_back(std::move(item));
      } else if (class_of(pairs[i + 1]) == "TensorStorageMetadata") {
        read_tensor(name, pairs[i + 1]);
      } else {
        add(Fault::metadata_field, name, "its entry is neither a tensor nor an object");
      }
    }
  }

  Storage* take(std::string_view name, const std::optional<Shape>& offsets) {
    const auto found = storage_.find(storage_key(name, offsets));
    if (found == storage_.end()) {
      return nullptr;
    }
    found->second.used = true;
    return &found->second;
  }

  void read_tensor(const std::string& name, const Value& entry) {
    Tensor tensor;
    tensor.name = name;
    const Value* properties = field(entry, "properties");
    const pickle::Object* state = properties != nullptr ? pickle_.object(*properties) : nullptr;
    const Value* first = nullptr;
    if (state != nullptr && state->has_state) {
      // A tuple since TensorProperties has its own __setstate__; a dictionary where it has not.
      first = state->state.kind == Kind::tuple && state->state.count != 0
                  ? pickle_.elements(state->state)
                  : field(*properties, "dtype");
    }
    const pickle::Global* dtype = first != nullptr ? pickle_.global(*first) : nullptr;
    tensor.dtype =
        dtype != nullptr && dtype->module == "torch" ? dtype_named(dtype->name) : DType::unknown;
    const std::optional<Shape> size = shape(field(entry, "size"));
    const Value* chunks = field(entry, "chunks");
    if (!size || chunks == nullptr || (chunks->kind != Kind::list && chunks->kind != Kind::tuple)) {
      add(Fault::metadata_field, name, "its entry lacks size or chunks");
      return;
    }
    if (tensor.dtype == DType::unknown) {
      add(Fault::metadata_field, name,
          dtype != nullptr ? "element type " + std::string(dtype->module) + "." +
                                 std::string(dtype->name) + " is unknown"
                           : "its entry lacks the element type");
    }
    tensor.shape = *size;
    const std::size_t count = pickle_.size(*chunks);
    visited_ += count;
    if (visited_ > bytes_.size()) {  // every true chunk takes more than a byte of the pickle
      add(Fault::metadata_field, name, "more pieces than the file can describe");
      return;
    }
    tensor.chunks.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      read_chunk(pickle_.elements(*chunks)[i], i, count, tensor);
    }
    out_.tensors.push_back(std::move(tensor));
  }

  void read_chunk(const Value& value, std::size_t index, std::size_t count, Tensor& tensor) {
    const std::optional<Shape> offsets = shape(field(value, "offsets")),
                               sizes = shape(field(value, "sizes"));
    if (!offsets || !sizes) {
      add(Fault::metadata_field, tensor.name,
          "piece " + std::to_string(index) + " lacks offsets or sizes");
      return;
    }
    if (offsets->size() != tensor.shape.size() || sizes->size() != tensor.shape.size()) {
      add(Fault::metadata_field, tensor.name,
          "piece " + std::to_string(index) + " has " + std::to_string(offsets->size()) +
              " offsets and " + std::to_string(sizes->size()) + " sizes in a tensor of shape " +
              text_of(tensor.shape));
      return;
    }
    Chunk chunk{*offsets, *sizes, {}, false, false};
    if (const Storage* entry = take(tensor.name, offsets)) {
      chunk.place = entry->place;
      chunk.transformed = entry->transformed;
      if (entry->index &&
          (*entry->index < 0 || static_cast<std::uint64_t>(*entry->index) >= count)) {
        hints_[tensor.name] += 1;
      }
    } else {
      add(Fault::storage_missing, tensor.name,
          "no file is recorded for its piece at " + text_of(*offsets));
    }
    tensor.chunks.push_back(std::move(chunk));
  }

  // planner_data maps each key to its path; dcp_to_torch needs it to rebuild nested dictionaries.
  void planner(const std::vector<Value>& described) {
    const Value* data = field(pickle_.root, "planner_data");
    const std::vector<Value>* pairs = data != nullptr ? pickle_.pairs(*data) : nullptr;
    if (pairs == nullptr) {
      out_.facts["planner data"] = "none";
      return;
    }
    std::unordered_map<std::string_view, bool> known;
    for (std::size_t i = 0; i + 1 < pairs->size(); i += 2) {
      const std::string_view key = pickle_.text((*pairs)[i]);
      known[key] = true;
      const Value& path = (*pairs)[i + 1];
      const std::size_t count = pickle_.size(path);
      if ((path.kind != Kind::tuple && path.kind != Kind::list) || count > 256) {
        add(Fault::planner_data, key, "its path is no tuple of names");
        continue;
      }
      std::string joined;
      for (std::size_t k = 0; k < count; ++k) {
        const Value& piece = pickle_.elements(path)[k];
        joined += k == 0 ? "" : ".";
        joined += piece.kind == Kind::integer ? std::to_string(piece.integer)
                                              : std::string(pickle_.text(piece));
      }
      if (joined != key) {
        add(Fault::planner_data, key, "its path joins to " + joined);
      }
    }
    for (std::size_t i = 0; !known.empty() && i + 1 < described.size(); i += 2) {
      if (!known.contains(pickle_.text(described[i]))) {
        add(Fault::planner_data, pickle_.text(described[i]), "the planner data has no path for it");
      }
    }
  }

  void notes() {
    for (const auto& [tensor, count] : hints_) {
      add(Fault::chunk_index, tensor,
          std::to_string(count) + " pieces have an index beyond the list of pieces");
    }
    if (const Value* version = field(pickle_.root, "version");
        version != nullptr && version->kind == Kind::text) {
      out_.facts["metadata version"] = pickle_.text(*version);
    }
    if (const Value* meta = field(pickle_.root, "storage_meta"); meta != nullptr) {
      for (const std::string_view name : {"save_id", "checkpoint_id"}) {
        if (const Value* text = field(*meta, name); text != nullptr && text->kind == Kind::text) {
          out_.facts[std::string(name)] = pickle_.text(*text);
        }
      }
    }
  }

  std::string_view bytes_;
  std::string name_;
  Checkpoint& out_;
  pickle::Pickle pickle_;
  std::unordered_map<std::string, Storage> storage_;
  std::unordered_map<std::string, std::uint32_t> files_;
  std::map<std::string, std::size_t> hints_;
  std::size_t visited_ = 0;
};

}  // namespace

void parse_metadata(std::string_view bytes, const std::string& name, Checkpoint& into) {
  Parser(bytes, name, into).parse();
}

void merge_metadata(Checkpoint part, Checkpoint& whole) {
  const auto file = static_cast<std::uint32_t>(whole.files.size());
  for (std::string& path : part.files) {
    whole.files.push_back(std::move(path));
  }
  std::map<std::string, Tensor> tensors;
  for (Tensor& tensor : whole.tensors) {
    tensors.emplace(tensor.name, std::move(tensor));
  }
  for (Tensor& tensor : part.tensors) {
    for (Chunk& chunk : tensor.chunks) {
      chunk.place.file += chunk.place.file == no_file ? 0 : file;
    }
    const auto [found, fresh] = tensors.try_emplace(tensor.name, tensor);
    for (Chunk& chunk : tensor.chunks) {
      std::vector<Chunk>& have = found->second.chunks;
      if (fresh) {
        break;
      }
      if (std::none_of(have.begin(), have.end(), [&](const Chunk& c) {
            return c.offsets == chunk.offsets && c.sizes == chunk.sizes;
          })) {
        have.push_back(std::move(chunk));
        continue;
      }
      // Each rank loads its own file: the same piece on two ranks is two values, not an overlap.
      const std::string name = tensor.name + " of " + whole.files[chunk.place.file];
      const Shape shape = chunk.sizes;
      chunk.offsets.assign(shape.size(), 0);
      tensors[name] = Tensor{name, tensor.dtype, shape, {std::move(chunk)}};
    }
  }
  whole.tensors.clear();
  for (auto& [name, tensor] : tensors) {
    whole.tensors.push_back(std::move(tensor));
  }
  for (Item& item : part.items) {
    item.place.file += item.place.file == no_file ? 0 : file;
    whole.items.push_back(std::move(item));
  }
  std::sort(whole.items.begin(), whole.items.end(),
            [](const Item& a, const Item& b) { return a.name < b.name; });
  std::move(part.findings.begin(), part.findings.end(), std::back_inserter(whole.findings));
  whole.facts.merge(part.facts);
  whole.has_metadata |= part.has_metadata;
}

}  // namespace shardlint::checkpoint
