#include "checkpoint/item.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/strings.h"
#include "checkpoint/checksum.h"
#include "checkpoint/globals.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint64_t small_record = 64 << 10;
constexpr std::uint64_t largest_description = 256 << 20;

class Examiner {
 public:
  Examiner(const Window& window, const Expected& expected) : window_(window), expected_(expected) {}

  Examined run() {
    zip_ = read_zip(window_);
    for (const ZipProblem& problem : zip_.problems) {
      const bool plain = problem.fault == Fault::item_not_archive && expected_.tensor == nullptr;
      add(problem.fault, problem.offset, problem.message,
          plain ? std::optional(Severity::warning) : std::nullopt);
    }
    if (zip_.usable) {
      const bool any = std::any_of(zip_.records.begin(), zip_.records.end(),
                                   [](const ZipRecord& r) { return r.crc != 0; });
      out_.without_crc = !any;
      records();
      small_checksums();
      description();
      values();
    }
    return std::move(out_);
  }

 private:
  void add(Fault fault, std::uint64_t offset, std::string message,
           std::optional<Severity> severity = {}) {
    out_.findings.push_back({fault, expected_.file, window_.offset + offset, expected_.key,
                             std::move(message), severity});
  }

  static bool is_values(const std::string& name) { return name.starts_with("data/"); }

  void records() {
    for (const ZipRecord& record : zip_.records) {
      out_.signature += is_values(record.name) ? "" : record.name + "\n";
    }
    const ZipRecord* version = zip_.find("version");
    if (version == nullptr) {
      add(Fault::archive_incomplete, 0, "has no record of the format's version");
    } else if (!version->compressed && version->size < 32) {
      const std::string text = window_.read(version->data, version->size);
      const std::optional<long long> number = to_integer(trim(text));
      if (!number || *number < 1 || *number > 10) {
        add(Fault::archive_incomplete, version->data,
            "its format's version is " +
                (number ? std::to_string(*number) : std::string("no number")));
      }
    }
    if (const ZipRecord* order = zip_.find("byteorder");
        order != nullptr && !order->compressed && order->size < 32) {
      if (const std::string text = window_.read(order->data, order->size); text != "little") {
        add(Fault::byte_order, order->data, "its byte order is " + text);
      }
    }
    for (const ZipRecord& record : zip_.records) {
      if (is_values(record.name) && record.data % 64 != 0 && !record.compressed) {
        add(Fault::archive_alignment, record.data,
            record.name + " is not at a multiple of 64 bytes");
        break;
      }
    }
  }

  // The id is made from the checksums of all records before it: a replaced record shows.
  void small_checksums() {
    std::vector<std::uint32_t> crcs;
    for (const ZipRecord& record : zip_.records) {
      if (record.name == ".data/serialization_id" && record.size == 40 && !record.compressed) {
        const std::string text = window_.read(record.data, record.size);
        const std::string wanted = std::to_string(combined_crcs(crcs));
        const std::size_t zeros = text.find_first_not_of('0', 20);
        const bool digits =
            std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!out_.without_crc && digits &&
            (zeros == std::string::npos ? "0" : text.substr(zeros)) != wanted) {
          add(Fault::serialization_id, record.data,
              "its id ends in " + text.substr(20) + ", its checksums give " + wanted);
        }
      }
      if (record.size != 0) {
        crcs.push_back(record.crc);
      }
      if (!expected_.read_small || record.compressed || out_.without_crc || record.size == 0 ||
          record.size > small_record || is_values(record.name)) {
        continue;
      }
      const std::string bytes = window_.read(record.data, record.size);
      if (const std::uint32_t crc = crc32(0, as_bytes(bytes)); crc != record.crc) {
        add(Fault::checksum, record.data,
            "the checksum of record " + record.name + " does not match its " +
                std::to_string(record.size) + " bytes");
      }
    }
  }

  void description() {
    const ZipRecord* record = zip_.find("data.pkl");
    if (record == nullptr) {
      add(Fault::archive_incomplete, 0, "has no data.pkl");
      return;
    }
    if (record->compressed || record->size > largest_description) {
      return;
    }
    const std::string bytes = window_.read(record->data, record->size);
    try {
      const pickle::Pickle pickle = pickle::run(bytes);
      const PickleRole role = expected_.tensor != nullptr ? PickleRole::tensor : PickleRole::object;
      for (Finding& finding : judge_globals(pickle, role, expected_.file,
                                            window_.offset + record->data, expected_.key)) {
        out_.findings.push_back(std::move(finding));
      }
      const auto found = storages(pickle);
      storages_.insert(found.begin(), found.end());
      if (expected_.tensor != nullptr) {
        compare(pickle, *record);
      }
    } catch (const pickle::Fault& fault) {
      add(Fault::item_pickle, record->data + fault.offset, fault.what());
    }
  }

  void compare(const pickle::Pickle& pickle, const ZipRecord& record) {
    const std::optional<StoredTensor> stored = stored_tensor(pickle, pickle.root);
    if (!stored) {
      add(Fault::item_pickle, record.data, "its description is not that of a tensor");
      return;
    }
    const Tensor& tensor = *expected_.tensor;
    if (stored->shape != expected_.chunk->sizes) {
      add(Fault::item_shape, record.data,
          "the record says " + text_of(expected_.chunk->sizes) + ", the file holds " +
              text_of(stored->shape));
    }
    if (stored->dtype != tensor.dtype && tensor.dtype != DType::unknown) {
      add(Fault::item_dtype, record.data,
          "the record says " + std::string(name_of(tensor.dtype)) + ", the file holds " +
              std::string(name_of(stored->dtype)));
    }
    if (!stored->extent()) {
      add(Fault::item_size, record.data,
          "its elements do not lie in its storage of " + std::to_string(stored->storage_bytes) +
              " bytes");
    }
    // A transposed tensor keeps its strides and is loaded rightly; a storage with gaps is odd.
    if (const auto extent = stored->extent();
        extent && !stored->contiguous() &&
        *extent != volume(stored->shape).value_or(0) * size_of(stored->dtype)) {
      add(Fault::item_strides, record.data, "its strides are " + text_of(stored->strides));
    }
    if (stored->device != "cpu") {
      add(Fault::item_device, record.data, "its device is " + stored->device);
    }
    const ZipRecord* values = zip_.find("data/" + stored->storage);
    if (values == nullptr) {
      add(Fault::archive_incomplete, 0, "has no record data/" + stored->storage);
    } else if (values->size != stored->storage_bytes) {
      add(Fault::item_size, values->data,
          std::to_string(values->size) + " bytes stand where " +
              std::to_string(stored->storage_bytes) + " are due");
    }
  }

  void values() {
    for (const ZipRecord& record : zip_.records) {
      const bool large = record.size > small_record;  // a description that was not compared above
      if (record.compressed || record.size == 0 || (!is_values(record.name) && !large)) {
        continue;
      }
      ValueRecord value{window_.offset + record.data,
                        record.size,
                        record.crc,
                        !out_.without_crc,
                        DType::unknown,
                        record.name};
      if (const auto found =
              is_values(record.name) ? storages_.find(record.name.substr(5)) : storages_.end();
          found != storages_.end()) {
        value.dtype = found->second;
      }
      out_.values.push_back(std::move(value));
    }
  }

  const Window& window_;
  const Expected& expected_;
  ZipDirectory zip_;
  Examined out_;
  std::map<std::string, DType> storages_;
};

}  // namespace

Examined examine(const Window& window, const Expected& expected) {
  return Examiner(window, expected).run();
}

}  // namespace shardlint::checkpoint
