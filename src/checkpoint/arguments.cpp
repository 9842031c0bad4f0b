#include "checkpoint/arguments.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/scan.h"
#include "checkpoint/torch_file.h"
#include "checkpoint/torch_record.h"
#include "checkpoint/zip.h"

namespace shardlint::checkpoint {
namespace {

namespace pk = pickle;

Value convert(const pk::Pickle& pickle, const pk::Value& value, int depth) {
  switch (value.kind) {
    case pk::Kind::none:
      return {};
    case pk::Kind::boolean:
      return value.boolean;
    case pk::Kind::integer:
      return value.integer;
    case pk::Kind::real:
      return value.real;
    case pk::Kind::text:
      return std::string(pickle.text(value));
    case pk::Kind::global: {
      const pk::Global* global = pickle.global(value);
      return std::string(global->module == "torch" ? "torch." : "") + std::string(global->name);
    }
    case pk::Kind::tuple:
    case pk::Kind::list: {
      if (depth > 3 || pickle.size(value) > 256) {
        return unknown(Reason::limit, "a long list");
      }
      List list;
      for (std::size_t i = 0; i < pickle.size(value); ++i) {
        list.push_back(convert(pickle, pickle.elements(value)[i], depth + 1));
      }
      return list;
    }
    case pk::Kind::object: {
      // An enumeration's member, as EnumClass(value): the value says which.
      const pk::Object* object = pickle.object(value);
      if (object->call == pk::Call::reduce && !object->has_state &&
          pickle.size(object->arguments) == 1) {
        return convert(pickle, *pickle.elements(object->arguments), depth + 1);
      }
      return unknown(Reason::opaque, "an object");
    }
    case pk::Kind::big_integer:
    case pk::Kind::bytes:
    case pk::Kind::dict:
    case pk::Kind::set:
      return unknown(Reason::opaque, "a value that is not plain");
  }
  return {};
}

void take_fields(const pk::Pickle& pickle, const pk::Value& namespace_,
                 std::map<std::string, Value>& into) {
  const pk::Object* object = pickle.object(namespace_);
  const std::vector<pk::Value>* pairs = object != nullptr && object->has_state
                                            ? pickle.pairs(object->state)
                                            : pickle.pairs(namespace_);
  for (std::size_t i = 0; pairs != nullptr && i + 1 < pairs->size() && i < 20'000; i += 2) {
    if ((*pairs)[i].kind == pk::Kind::text) {
      into[std::string(pickle.text((*pairs)[i]))] = convert(pickle, (*pairs)[i + 1], 0);
    }
  }
}

// The dictionary that Megatron saves beside the model: args, iteration, content_metadata, ...
void take_state(const pk::Pickle& pickle, const pk::Value& root, SavedArguments& into) {
  const pk::Value* dict = &root;
  if (root.kind == pk::Kind::list && pickle.size(root) == 1) {  // a sharded object of one part
    dict = pickle.elements(root);
  }
  const std::vector<pk::Value>* pairs = pickle.pairs(*dict);
  for (std::size_t i = 0; pairs != nullptr && i + 1 < pairs->size() && i < 20'000; i += 2) {
    const std::string_view key = pickle.text((*pairs)[i]);
    const pk::Value& value = (*pairs)[i + 1];
    if (key == "args") {
      take_fields(pickle, value, into.arguments);
    } else if (key == "content_metadata") {
      if (const pk::Value* type = pickle.find(value, "distrib_optim_sharding_type")) {
        into.sharding_type = pickle.text(*type);
      }
    } else if (value.kind == pk::Kind::integer || value.kind == pk::Kind::real ||
               value.kind == pk::Kind::text) {
      into.state[std::string(key)] = convert(pickle, value, 0);
    }
  }
}

std::unique_ptr<LoadedObject> load_item(const Checkpoint& checkpoint, const Item* item) {
  if (item == nullptr || item->place.file >= checkpoint.files.size() ||
      checkpoint.files[item->place.file].empty() || item->transformed) {
    return nullptr;
  }
  const auto file = std::make_shared<const File>(checkpoint.path(item->place.file));
  if (item->place.offset > file->size() || item->place.length > file->size() - item->place.offset) {
    return nullptr;
  }
  return load_object({file, item->place.offset, item->place.length});
}

std::unique_ptr<LoadedObject> load_file(const std::string& path) {
  if (!stat_file(path)) {
    return nullptr;
  }
  const auto file = std::make_shared<const File>(path);
  return load_object({file, 0, file->size()});
}

}  // namespace

std::optional<SavedArguments> saved_arguments(const Checkpoint& checkpoint) {
  SavedArguments made;
  try {
    if (const Item* item = checkpoint.item("args"); item != nullptr) {
      if (const auto loaded = load_item(checkpoint, item)) {
        made.file = checkpoint.path(item->place.file);
        take_fields(loaded->pickle, loaded->pickle.root, made.arguments);
      }
      for (const char* name :
           {"iteration", "checkpoint_version", "num_floating_point_operations_so_far"}) {
        if (const auto loaded = load_item(checkpoint, checkpoint.item(name))) {
          made.state[name] = convert(loaded->pickle, loaded->pickle.root, 0);
        }
      }
    } else if (const Item* common = checkpoint.item("common_state/shard_0_1"); common != nullptr) {
      if (const auto loaded = load_item(checkpoint, common)) {
        made.file = checkpoint.path(common->place.file);
        take_state(loaded->pickle, loaded->pickle.root, made);
      }
    } else {
      std::string path = join_path(checkpoint.directory, "common.pt");
      if (checkpoint.format == Format::legacy && !checkpoint.archives.empty()) {
        path = join_path(checkpoint.directory, checkpoint.archives.front());
        for (const std::string& archive : checkpoint.archives) {
          if (archive.ends_with("/model_optim_rng.pt")) {
            path = join_path(checkpoint.directory, archive);
            break;
          }
        }
      }
      if (const auto loaded = load_file(path)) {
        made.file = path;
        take_state(loaded->pickle, loaded->pickle.root, made);
      }
    }
  } catch (const Error&) {
    return std::nullopt;  // the checks say what is wrong with the file
  }
  return made.file.empty() ? std::nullopt : std::optional(made);
}

std::map<std::string, double> scalar_tensors(const std::string& path) {
  std::map<std::string, double> made;
  try {
    Checkpoint file;
    file.directory = parent_path(path);
    add_torch_file(file_name(path), "", file);
    const File opened(path);
    for (const Tensor& tensor : file.tensors) {
      if (!tensor.chunks.empty() && volume(tensor.shape) == 1 && size_of(tensor.dtype) != 0) {
        std::byte bytes[16];
        opened.read(tensor.chunks[0].place.offset, std::span(bytes).first(size_of(tensor.dtype)));
        made[tensor.name] = element(tensor.dtype, bytes);
      }
    }
  } catch (const Error&) {
    made.clear();
  }
  return made;
}

}  // namespace shardlint::checkpoint
