#include "checkpoint/torch_record.h"

namespace shardlint::checkpoint {
namespace {

using pickle::Kind;
using pickle::Pickle;
using pickle::Value;

std::optional<Shape> integers(const Pickle& pickle, const Value& value) {
  const Value* from = &value;
  if (const pickle::Object* size = pickle.object(value);
      size != nullptr && pickle.is_global(size->callable, "torch", "Size") &&
      pickle.size(size->arguments) == 1) {
    from = pickle.elements(size->arguments);
  }
  if ((from->kind != Kind::tuple && from->kind != Kind::list) || pickle.size(*from) > 32) {
    return std::nullopt;
  }
  Shape made;
  for (std::size_t i = 0; i < pickle.size(*from); ++i) {
    const Value& element = pickle.elements(*from)[i];
    if (element.kind != Kind::integer || element.integer < 0) {
      return std::nullopt;
    }
    made.push_back(element.integer);
  }
  return made;
}

struct StorageReference {
  std::string key, device;
  DType dtype = DType::unknown;  // uint8 for an untyped storage
  std::uint64_t bytes = 0;
};

// ('storage', torch.FloatStorage, '0', 'cpu', numel) as a persistent id.
std::optional<StorageReference> storage_reference(const Pickle& pickle, const Value& value) {
  const pickle::Object* object = pickle.object(value);
  if (object == nullptr || object->call != pickle::Call::persistent_id ||
      object->arguments.kind != Kind::tuple || object->arguments.count < 5) {
    return std::nullopt;
  }
  const Value* id = pickle.elements(object->arguments);
  const pickle::Global* type = pickle.global(id[1]);
  if (pickle.text(id[0]) != "storage" || type == nullptr || id[2].kind != Kind::text ||
      id[4].kind != Kind::integer || id[4].integer < 0) {
    return std::nullopt;
  }
  StorageReference made;
  made.key = pickle.text(id[2]);
  made.device = pickle.text(id[3]);
  made.dtype = type->name == "UntypedStorage" ? DType::uint8 : dtype_of_storage(type->name);
  const auto bytes = checked_mul(static_cast<std::uint64_t>(id[4].integer), size_of(made.dtype));
  if (!bytes) {
    return std::nullopt;
  }
  made.bytes = *bytes;
  return made;
}

}  // namespace

Shape contiguous_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size());
  std::uint64_t product = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(product);
    product *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

bool StoredTensor::contiguous() const {
  const Shape wanted = contiguous_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      return true;
    }
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && strides[i] != wanted[i]) {
      return false;
    }
  }
  return true;
}

std::optional<std::uint64_t> StoredTensor::extent() const {
  std::uint64_t last = storage_offset;  // the furthest element
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      return 0;
    }
    const auto step = checked_mul(static_cast<std::uint64_t>(shape[i] - 1),
                                  static_cast<std::uint64_t>(strides[i]));
    const auto sum = step ? checked_add(last, *step) : std::nullopt;
    if (!sum) {
      return std::nullopt;
    }
    last = *sum;
  }
  const auto elements = checked_add(last, 1);
  const auto bytes = elements ? checked_mul(*elements, size_of(dtype)) : std::nullopt;
  return bytes && *bytes <= storage_bytes ? bytes : std::nullopt;
}

std::optional<StoredTensor> stored_tensor(const Pickle& pickle, const Value& value) {
  const pickle::Object* object = pickle.object(value);
  for (int depth = 0; depth < 8; ++depth) {
    const pickle::Global* callable = object != nullptr ? pickle.global(object->callable) : nullptr;
    if (callable == nullptr || object->arguments.kind != Kind::tuple ||
        object->arguments.count == 0) {
      return std::nullopt;
    }
    const Value* arguments = pickle.elements(object->arguments);
    std::uint32_t count = object->arguments.count;
    if (callable->module == "torch._tensor" && callable->name == "_rebuild_from_type_v2" &&
        count == 4 && arguments[2].kind == Kind::tuple && arguments[2].count != 0) {
      // A tensor with attributes of Python: function, class, the function's arguments, attributes.
      callable = pickle.global(arguments[0]);
      count = arguments[2].count;
      arguments = pickle.elements(arguments[2]);
      if (callable == nullptr) {
        return std::nullopt;
      }
    }
    if (callable->module != "torch._utils" && callable->module != "torch._tensor") {
      return std::nullopt;
    }
    if (callable->name == "_rebuild_parameter" ||
        callable->name == "_rebuild_parameter_with_state") {
      object = pickle.object(arguments[0]);
      continue;
    }
    if (callable->name != "_rebuild_tensor_v2" && callable->name != "_rebuild_tensor_v3") {
      return std::nullopt;
    }
    if (count < 4) {
      return std::nullopt;
    }
    const std::optional<StorageReference> storage = storage_reference(pickle, arguments[0]);
    const std::optional<std::int64_t> offset = pickle.integer(arguments[1]);
    const std::optional<Shape> shape = integers(pickle, arguments[2]),
                               strides = integers(pickle, arguments[3]);
    if (!storage || !offset || *offset < 0 || !shape || !strides ||
        strides->size() != shape->size()) {
      return std::nullopt;
    }
    StoredTensor made{
        storage->dtype, *shape,       *strides,       static_cast<std::uint64_t>(*offset),
        storage->bytes, storage->key, storage->device};
    if (callable->name ==
        "_rebuild_tensor_v3") {  // the type follows the hooks; the storage is untyped
      const pickle::Global* dtype = count > 6 ? pickle.global(arguments[6]) : nullptr;
      made.dtype = dtype != nullptr ? dtype_named(dtype->name) : DType::unknown;
    }
    return made;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, DType>> storages(const Pickle& pickle) {
  std::vector<std::pair<std::string, DType>> found;
  for (std::size_t i = 0; i < pickle.objects.size(); ++i) {
    Value value;
    value.kind = Kind::object;
    value.at = i;
    if (const std::optional<StoredTensor> tensor = stored_tensor(pickle, value)) {
      found.emplace_back(tensor->storage, tensor->dtype);
    } else if (const std::optional<StorageReference> storage = storage_reference(pickle, value)) {
      found.emplace_back(storage->key, storage->dtype);
    }
  }
  return found;
}

}  // namespace shardlint::checkpoint
