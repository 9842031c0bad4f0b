#include "checkpoint/torch_file.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/torch_record.h"
#include "checkpoint/zip.h"

namespace shardlint::checkpoint {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr int deepest = 48;
constexpr std::uint64_t largest_description = 256 << 20;

// Collects the tensors below a value.
class Walk {
 public:
  Walk(const LoadedObject& object, const ZipDirectory& zip, std::uint32_t file,
       const std::string& path, Checkpoint& into)
      : pickle_(object.pickle), file_(file), path_(path), out_(into), budget_(object.bytes.size()) {
    for (const ZipRecord& record : zip.records) {
      records_.emplace(record.name, &record);
    }
  }

  void value(const Value& value, const std::string& name, int depth) {
    if (depth > deepest || budget_ == 0) {
      return;
    }
    --budget_;
    if (const std::vector<Value>* pairs = pickle_.pairs(value)) {
      for (std::size_t i = 0; i + 1 < pairs->size(); i += 2) {
        if (pickle_.pairs((*pairs)[i + 1]) != nullptr || (*pairs)[i + 1].kind >= Kind::tuple) {
          this->value((*pairs)[i + 1], join(name, key_text((*pairs)[i])), depth + 1);
        }
      }
    } else if (value.kind == Kind::list || value.kind == Kind::tuple) {
      for (std::size_t i = 0; i < pickle_.size(value); ++i) {
        const Value element = pickle_.elements(value)[i];
        if (element.kind >= Kind::tuple) {
          this->value(element, join(name, std::to_string(i)), depth + 1);
        }
      }
    } else if (value.kind == Kind::object) {
      object(value, name, depth);
    }
  }

 private:
  static std::string join(const std::string& name, const std::string& key) {
    return name.empty() || name.ends_with('/') || name.ends_with('.') ? name + key
                                                                      : name + "." + key;
  }
  std::string key_text(const Value& key) const {
    switch (key.kind) {
      case Kind::integer:
        return std::to_string(key.integer);
      case Kind::text:
        return std::string(pickle_.text(key));
      case Kind::tuple: {  // Megatron's buckets: (torch.bfloat16, torch.float32)
        std::string text;
        for (std::size_t i = 0; i < std::min<std::size_t>(pickle_.size(key), 8); ++i) {
          const pickle::Global* global = pickle_.global(pickle_.elements(key)[i]);
          text += (i == 0 ? "" : ", ") +
                  (global != nullptr ? std::string(global->module) + "." + std::string(global->name)
                                     : scalar_text(pickle_.elements(key)[i]));
        }
        return "(" + text + ")";
      }
      default:
        return "?";
    }
  }
  std::string scalar_text(const Value& key) const {
    return key.kind == Kind::integer ? std::to_string(key.integer)
           : key.kind == Kind::text  ? std::string(pickle_.text(key))
                                     : "?";
  }

  void object(const Value& value, const std::string& name, int depth) {
    if (const std::optional<StoredTensor> stored = stored_tensor(pickle_, value)) {
      tensor(*stored, name);
      return;
    }
    const pickle::Object& made = *pickle_.object(value);
    const pickle::Global* callable = pickle_.global(made.callable);
    if (callable == nullptr || callable->name == "Namespace") {
      return;
    }
    if (callable->name == "_rebuild_from_type_v2" && pickle_.size(made.arguments) == 4) {
      // A subclass of Tensor: function, class, its arguments, its attributes. A DTensor's values
      // are its attribute _local_tensor, its shape is the second argument.
      const Value* arguments = pickle_.elements(made.arguments);
      // The attributes come as a dictionary, or with those in slots as (dictionary, slots).
      const bool slots = arguments[3].kind == Kind::tuple && pickle_.size(arguments[3]) == 2;
      const Value& attributes = slots ? pickle_.elements(arguments[3])[1] : arguments[3];
      if (const Value* local = pickle_.find(attributes, "_local_tensor")) {
        if (const std::optional<Shape> whole = global_shape(arguments[2])) {
          out_.whole_shapes[name] = *whole;
        }
        this->value(*local, name, depth + 1);
        return;
      }
      this->value(arguments[2], name, depth + 1);
      return;
    }
    if (callable->name == "ShardedTensor" && made.has_state) {
      this->value(made.state, name, depth + 1);
    } else if (callable->name == "Shard" || callable->name == "_rebuild_parameter") {
      this->value(made.has_state ? made.state : made.arguments, name, depth + 1);
    }
  }

  std::optional<Shape> global_shape(const Value& arguments) const {
    if (pickle_.size(arguments) < 3 || arguments.kind != Kind::tuple ||
        pickle_.elements(arguments)[2].kind != Kind::tuple) {
      return std::nullopt;
    }
    const Value& size = pickle_.elements(arguments)[2];
    Shape made;
    for (std::size_t i = 0; i < std::min<std::size_t>(size.count, 32); ++i) {
      made.push_back(pickle_.integer(pickle_.elements(size)[i]).value_or(0));
    }
    return made;
  }

  void tensor(const StoredTensor& stored, const std::string& name) {
    const auto add = [&](Fault fault, const std::string& what) {
      out_.findings.push_back({fault, path_, {}, name, what, {}});
    };
    Tensor tensor{name, stored.dtype, stored.shape, {}};
    const auto found = records_.find("data/" + stored.storage);
    const std::optional<std::uint64_t> extent = stored.extent();
    if (found == records_.end()) {
      add(Fault::archive_incomplete,
          "the record data/" + stored.storage + " of its values is not there");
    } else if (!extent || found->second->size < *extent) {
      add(Fault::item_size, "its elements do not lie in the " +
                                std::to_string(found->second->size) + " bytes of record data/" +
                                stored.storage);
    } else {
      const std::uint64_t begin = stored.storage_offset * size_of(stored.dtype);
      Chunk chunk{Shape(stored.shape.size(), 0),
                  stored.shape,
                  {file_, found->second->data + begin, *extent == 0 ? 0 : *extent - begin},
                  true,
                  false};
      chunk.transformed = !stored.contiguous() || found->second->compressed;
      tensor.chunks.push_back(std::move(chunk));
    }
    out_.tensors.push_back(std::move(tensor));
  }

  const pickle::Pickle& pickle_;
  std::map<std::string, const ZipRecord*> records_;
  std::uint32_t file_;
  std::string path_;
  Checkpoint& out_;
  std::size_t budget_;  // a shared value is walked again under each name; the whole stays bounded
};

}  // namespace

std::unique_ptr<LoadedObject> load_object(const Window& window) {
  const ZipDirectory zip = read_zip(window);
  const ZipRecord* record = zip.usable ? zip.find("data.pkl") : nullptr;
  if (record == nullptr || record->compressed || record->size > largest_description) {
    return nullptr;
  }
  auto loaded = std::make_unique<LoadedObject>();
  loaded->bytes = window.read(record->data, record->size);
  loaded->offset = window.offset + record->data;
  try {
    loaded->pickle = pickle::run(loaded->bytes);
  } catch (const pickle::Fault&) {
    return nullptr;
  }
  return loaded;
}

void add_torch_file(const std::string& file, const std::string& prefix, Checkpoint& into) {
  const std::string path = join_path(into.directory, file);
  const auto index = static_cast<std::uint32_t>(into.files.size());
  into.files.push_back(file);
  into.archives.push_back(file);
  try {
    const Window window{std::make_shared<const File>(path), 0, 0};
    const Window whole{window.file, 0, window.file->size()};
    if (const std::unique_ptr<LoadedObject> loaded = load_object(whole)) {
      Walk(*loaded, read_zip(whole), index, path, into).value(loaded->pickle.root, prefix, 0);
      into.has_metadata = true;
    }  // what is wrong with it is said when its archive is examined
  } catch (const Error& error) {
    into.findings.push_back({Fault::unreadable_bytes, path, {}, "", error.what(), {}});
  }
}

}  // namespace shardlint::checkpoint
