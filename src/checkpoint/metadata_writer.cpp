#include "checkpoint/metadata_writer.h"

#include "base/strings.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::string_view classes = "torch.distributed.checkpoint.metadata";
constexpr std::string_view filesystem = "torch.distributed.checkpoint.filesystem";

void write_tensor(PickleWriter& out, const WriteTensor& tensor,
                  const std::vector<const WriteShard*>& shards) {
  out.text(tensor.name);
  out.object(classes, "TensorStorageMetadata");
  out.text("properties");
  out.global(classes, "TensorProperties");
  out.raw(")\x81(");
  out.global("torch", name_of(tensor.dtype));
  out.global("torch.serialization", "_get_layout");
  out.text("torch.strided");
  out.raw("\x85R\x89");  // the call; requires_grad False
  out.global(classes, "_MEM_FORMAT_ENCODING");
  out.raw({"K\x00\x85R\x89tb", 7});  // contiguous; pin_memory False; the state of five
  out.text("size");
  out.size(tensor.shape);
  out.text("chunks");
  out.raw("](");
  for (const WriteShard* shard : shards) {
    out.object(classes, "ChunkStorageMetadata");
    out.text("offsets");
    out.size(shard->offsets);
    out.text("sizes");
    out.size(shard->sizes);
    out.end_object();
  }
  out.raw("e");
  out.end_object();
}

void write_path(PickleWriter& out, const std::string& name, const std::vector<std::string>& path) {
  out.text(name);
  out.raw("(");
  if (path.empty()) {
    out.text(name);
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::optional<long long> position = i != 0 ? to_integer(path[i]) : std::nullopt;
    if (position && path[i] == std::to_string(*position)) {
      out.integer(*position);
    } else {
      out.text(path[i]);
    }
  }
  out.raw("t");
}

void write_storage(PickleWriter& out, const std::string& name, std::optional<std::int64_t> index,
                   const Shape* offsets, const WrittenPiece& piece) {
  out.object(classes, "MetadataIndex");
  out.text("fqn");
  out.text(name);
  out.text("index");
  if (index) {
    out.integer(*index);
  } else {
    out.raw("N");
  }
  if (offsets != nullptr) {
    out.text("offset");
    out.size(*offsets);
  }
  out.end_object();
  out.object(filesystem, "_StorageInfo");
  out.text("relative_path");
  out.text(piece.file);
  out.text("offset");
  out.integer(static_cast<std::int64_t>(piece.offset));
  out.text("length");
  out.integer(static_cast<std::int64_t>(piece.length));
  out.end_object();
}

}  // namespace

std::string metadata_pickle(const WritePlan& plan, std::span<const WrittenPiece> shards,
                            std::span<const WrittenPiece> objects,
                            const std::string& checkpoint_id) {
  std::vector<std::vector<const WriteShard*>> of_tensor(plan.tensors.size());
  std::vector<std::int64_t> index(plan.shards.size());
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    index[i] = static_cast<std::int64_t>(of_tensor[plan.shards[i].tensor].size());
    of_tensor[plan.shards[i].tensor].push_back(&plan.shards[i]);
  }
  PickleWriter out;
  out.object(classes, "Metadata");
  out.text("state_dict_metadata");
  out.raw("}(");
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    write_tensor(out, plan.tensors[i], of_tensor[i]);
  }
  for (const WriteObject& object : plan.objects) {
    out.text(object.name);
    out.global(classes, "BytesStorageMetadata");
    out.raw(")\x81");
  }
  out.raw("u");
  out.text("planner_data");
  out.raw("}(");
  for (const WriteTensor& tensor : plan.tensors) {
    write_path(out, tensor.name, tensor.path);
  }
  for (const WriteObject& object : plan.objects) {
    write_path(out, object.name, object.path);
  }
  out.raw("u");
  out.text("storage_data");
  out.raw("}(");
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    write_storage(out, plan.objects[i].name, std::nullopt, nullptr, objects[i]);
  }
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    write_storage(out, plan.tensors[plan.shards[i].tensor].name, index[i], &plan.shards[i].offsets,
                  shards[i]);
  }
  out.raw("u");
  out.text("storage_meta");
  out.object(classes, "StorageMeta");
  out.text("checkpoint_id");
  out.text(checkpoint_id);
  out.text("save_id");
  out.text(plan.save_id);
  out.text("load_id");
  out.raw("N");
  out.text("modules");
  out.raw("]");
  out.end_object();
  out.text("version");
  out.text("1.0.0");
  out.end_object();
  return out.done();
}

}  // namespace shardlint::checkpoint
