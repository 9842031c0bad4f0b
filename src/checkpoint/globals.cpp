#include "checkpoint/globals.h"

#include <algorithm>

#include "checkpoint/dtype.h"

namespace shardlint::checkpoint {
namespace {

using Names = std::initializer_list<std::string_view>;
bool among(std::string_view word, Names names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

bool is_dtype(std::string_view name) {
  return dtype_named(name) != DType::unknown || name.starts_with("bits");
}

bool in_metadata(std::string_view module, std::string_view name) {
  const std::string_view root = "torch.distributed.";
  if (module.starts_with(root)) {
    const std::string_view rest = module.substr(root.size());
    return (rest == "checkpoint.metadata" &&
            among(name, {"Metadata", "TensorStorageMetadata", "BytesStorageMetadata",
                         "ChunkStorageMetadata", "TensorProperties", "_MEM_FORMAT_ENCODING",
                         "MetadataIndex", "StorageMeta"})) ||
           (rest == "_shard.sharded_tensor.metadata" &&
            among(name, {"TensorProperties", "MEM_FORMAT_ENCODING"})) ||
           (rest == "checkpoint.filesystem" && among(name, {"_StorageInfo", "_StoragePrefix"})) ||
           (rest == "checkpoint.planner" &&
            among(name, {"SavePlan", "WriteItem", "WriteItemType", "TensorWriteData"})) ||
           (rest == "checkpoint._hf_utils" && name == "_HFStorageInfo");
  }
  if (module == "torch") {
    return name == "Size" || is_dtype(name);
  }
  if (module == "pathlib" || module == "pathlib._local") {
    return among(
        name, {"PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath", "Path", "PurePath"});
  }
  return (module == "torch.serialization" && name == "_get_layout") ||
         (module == "collections" && name == "OrderedDict") ||
         (module == "builtins" &&
          name == "getattr") ||  // only as getattr(an enumeration, its member)
         (module == "megatron.core.dist_checkpointing.strategies.torch" &&
          among(name, {"MCoreMetadata", "MCoreSavePlan"}));
}

bool in_tensor(std::string_view module, std::string_view name) {
  if (module == "torch") {
    return dtype_of_storage(name) != DType::unknown || is_dtype(name) || name == "Size";
  }
  return (module == "torch._utils" && name.starts_with("_rebuild_")) ||
         (module == "torch.storage" &&
          among(name, {"UntypedStorage", "TypedStorage", "_load_from_bytes"}) &&
          name != "_load_from_bytes") ||
         (module == "torch.serialization" && name == "_get_layout") ||
         (module == "collections" && name == "OrderedDict");
}

bool in_object(std::string_view module, std::string_view name) {
  if (in_tensor(module, name)) {
    return true;
  }
  if (module == "builtins" || module == "__builtin__") {
    return among(name, {"set", "frozenset", "bytearray", "complex", "slice", "range", "object",
                        "dict", "list", "tuple", "int", "float", "str", "bool", "bytes"});
  }
  if (module == "torch") {
    return among(
        name, {"device", "Tensor", "Generator", "preserve_format", "contiguous_format", "strided"});
  }
  if (module.starts_with("numpy")) {
    return among(name, {"_reconstruct", "scalar", "ndarray", "dtype", "_frombuffer"}) ||
           name.ends_with("DType") ||
           among(name, {"bool_", "int64", "int32", "uint32", "uint8", "float32", "float64"});
  }
  if (module.starts_with("torch.distributed.")) {
    // Shards saved whole, one file a rank: wrappers of tensors and the description of their mesh.
    return among(name,
                 {"DTensor", "DTensorSpec", "TensorMeta", "DeviceMesh", "Shard", "Replicate",
                  "Partial", "_StridedShard", "ShardedTensor", "ShardedTensorMetadata",
                  "ShardMetadata", "TensorProperties", "MEM_FORMAT_ENCODING", "_remote_device",
                  "_rebuild_wrapper_subclass", "ShardOrderEntry", "_MeshLayout", "_Placement"}) ||
           module.starts_with("torch.distributed.tensor.placement_types");
  }
  if (module.starts_with("megatron.") || module.starts_with("transformer_engine.")) {
    // Enumerations and plain configuration classes; their spelling changes between versions.
    return !name.empty() && (std::isupper(static_cast<unsigned char>(name.front())) != 0);
  }
  return (module == "argparse" && name == "Namespace") ||
         (module == "types" && name == "SimpleNamespace") ||
         (module == "_io" && name == "BytesIO") || (module == "_codecs" && name == "encode") ||
         (module == "collections" &&
          among(name, {"OrderedDict", "defaultdict", "deque", "Counter"})) ||
         (module == "pathlib" && name.ends_with("Path")) ||
         (module == "pathlib._local" && name.ends_with("Path")) ||
         (module == "signal" && name == "Signals") ||
         (module == "torch._C" && name == "Generator") ||
         (module == "torch._tensor" && name == "_rebuild_from_type_v2") ||
         (module == "torch.nn.parameter" && among(name, {"Parameter", "Buffer"})) ||
         (module == "torch.torch_version" && name == "TorchVersion") ||
         (module == "copyreg" && name == "_reconstructor") || (module == "datetime") ||
         (module == "enum") || (module == "dataclasses") ||
         (module == "fractions" && name == "Fraction") ||
         (module == "decimal" && name == "Decimal");
}

bool runs_code(std::string_view module, std::string_view name) {
  const std::string_view root = module.substr(0, module.find('.'));
  return among(root, {"os",       "posix",       "nt",        "sys",      "subprocess",
                      "builtins", "__builtin__", "importlib", "runpy",    "pty",
                      "socket",   "shutil",      "ctypes",    "pickle",   "_pickle",
                      "dill",     "cloudpickle", "code",      "codeop",   "multiprocessing",
                      "asyncio",  "urllib",      "http",      "requests", "webbrowser",
                      "tempfile", "platform",    "timeit",    "operator", "functools",
                      "commands", "bdb",         "pdb",       "pip"}) ||
         (module == "torch" && among(name, {"load", "hub", "compile"})) ||
         module.starts_with("torch.hub") ||
         (module == "torch.storage" && name == "_load_from_bytes") ||
         (module == "torch.serialization" && name == "load") ||
         (root == "torch" && name == "load") ||
         (root == "numpy" && among(name, {"load", "fromfile"})) ||
         (root == "numpy" && module.find("testing") != std::string_view::npos);
}

}  // namespace

NameVerdict judge(std::string_view module, std::string_view name, PickleRole role) {
  const bool fits = role == PickleRole::metadata ? in_metadata(module, name)
                    : role == PickleRole::tensor ? in_tensor(module, name)
                                                 : in_object(module, name);
  return fits                      ? NameVerdict::expected
         : runs_code(module, name) ? NameVerdict::runs_code
                                   : NameVerdict::unexpected;
}

std::vector<Finding> judge_globals(const pickle::Pickle& pickle, PickleRole role,
                                   const std::string& file, std::uint64_t base,
                                   const std::string& tensor) {
  std::vector<Finding> findings;
  for (const pickle::Global& global : pickle.globals) {
    const NameVerdict verdict = judge(global.module, global.name, role);
    if (verdict != NameVerdict::expected) {
      const bool code = verdict == NameVerdict::runs_code;
      Finding finding{code ? Fault::runs_code : Fault::unexpected_global,
                      file,
                      base + global.offset,
                      tensor,
                      "names " + std::string(global.module) + "." + std::string(global.name),
                      {}};
      const bool framework =
          global.module.starts_with("torch.") || global.module.starts_with("megatron.");
      if (!code && role == PickleRole::object) {
        finding.severity = Severity::info;  // arguments may hold objects of the user's own classes
      } else if (!code && framework) {
        finding.severity = Severity::warning;  // a class that a later version has added
      }
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace shardlint::checkpoint
