#include "checkpoint/archive_writer.h"

#include <bit>

#include "base/error.h"
#include "checkpoint/checksum.h"
#include "checkpoint/torch_record.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint64_t u32_cap = 0xffffffff;
constexpr std::uint64_t alignment = 64;

// Appends records one after another; the values of one of them may be left out, because they are
// written straight from where they lie.
class ZipWriter {
 public:
  void record(std::string_view name, std::string_view data) {
    begin(name, data.size());
    out_ += data;
    end(crc32(0, as_bytes(data)));
  }
  // A record whose `size` bytes follow elsewhere: what was written so far is the head.
  std::string split_record(std::string_view name, std::uint64_t size, std::uint32_t crc) {
    begin(name, size);
    std::string head = std::move(out_);
    out_.clear();
    skipped_ = head.size() + size;
    end(crc);
    return head;
  }
  // version, serialization id, central directory and trailers.
  std::string finish() {
    record("version", "3\n");
    const auto digits = [](std::uint64_t number) {
      const std::string text = std::to_string(number);
      return std::string(20 - text.size(), '0') + text;
    };
    // torch fills the first half with a hash of the names that depends on its standard library and
    // that nothing reads.
    record(".data/serialization_id",
           digits(crc32(0, as_bytes(names_))) + digits(combined_crcs(crcs_)));
    const std::uint64_t directory_at = position(), directory_size = directory_.size();
    out_ += directory_;
    const std::uint64_t end64_at = position();
    store_le<std::uint32_t>(out_, 0x06064b50);
    store_le<std::uint64_t>(out_, 44);
    store_le<std::uint16_t>(out_, 0x031e);
    store_le<std::uint16_t>(out_, 0x002d);
    store_le<std::uint64_t>(out_, 0);
    for (const std::uint64_t number : {count_, count_, directory_size, directory_at}) {
      store_le<std::uint64_t>(out_, number);
    }
    store_le<std::uint32_t>(out_, 0x07064b50);
    store_le<std::uint32_t>(out_, 0);
    store_le<std::uint64_t>(out_, end64_at);
    store_le<std::uint32_t>(out_, 1);
    store_le<std::uint32_t>(out_, 0x06054b50);
    store_le<std::uint32_t>(out_, 0);
    store_le<std::uint16_t>(out_, static_cast<std::uint16_t>(count_));
    store_le<std::uint16_t>(out_, static_cast<std::uint16_t>(count_));
    store_le<std::uint32_t>(out_, static_cast<std::uint32_t>(directory_size));
    store_le<std::uint32_t>(out_, static_cast<std::uint32_t>(std::min(directory_at, u32_cap)));
    store_le<std::uint16_t>(out_, 0);
    return std::move(out_);
  }

 private:
  std::uint64_t position() const { return skipped_ + out_.size(); }

  void begin(std::string_view name, std::uint64_t size) {
    name_ = "archive/" + std::string(name);
    names_ += name_;
    size_ = size;
    header_ = position();
    wide_.clear();
    std::string local_wide;
    if (size >= u32_cap || header_ >= u32_cap) {
      std::string local, central;
      if (size >= u32_cap) {
        store_le<std::uint64_t>(local, size);
        store_le<std::uint64_t>(local, 0);
        store_le<std::uint64_t>(central, size);
        store_le<std::uint64_t>(central, size);
      }
      if (header_ >= u32_cap) {
        store_le<std::uint64_t>(local, header_);
        store_le<std::uint64_t>(central, header_);
      }
      for (auto [into, body] : {std::pair(&local_wide, &local), std::pair(&wide_, &central)}) {
        store_le<std::uint16_t>(*into, 1);
        store_le<std::uint16_t>(*into, static_cast<std::uint16_t>(body->size()));
        *into += *body;
      }
    }
    const std::uint64_t padding =
        -(header_ + 30 + name_.size() + local_wide.size() + 4) % alignment;
    store_le<std::uint32_t>(out_, 0x04034b50);
    store_le<std::uint16_t>(out_, 0);
    store_le<std::uint16_t>(out_, flags());
    out_.append(18, '\0');  // method, time, date, CRC and sizes: the directory has them
    store_le<std::uint16_t>(out_, static_cast<std::uint16_t>(name_.size()));
    store_le<std::uint16_t>(out_, static_cast<std::uint16_t>(local_wide.size() + 4 + padding));
    out_ += name_ + local_wide + "FB";
    store_le<std::uint16_t>(out_, static_cast<std::uint16_t>(padding));
    out_.append(padding, 'Z');
  }

  std::uint16_t flags() const { return size_ != 0 ? 0x0808 : 0x0800; }

  void end(std::uint32_t crc) {
    if (size_ != 0) {
      crcs_.push_back(crc);
      store_le<std::uint32_t>(out_, 0x08074b50);
      store_le<std::uint32_t>(out_, crc);
      for (int i = 0; i < 2; ++i) {
        if (wide_.empty()) {
          store_le<std::uint32_t>(out_, static_cast<std::uint32_t>(size_));
        } else {
          store_le<std::uint64_t>(out_, size_);
        }
      }
    }
    store_le<std::uint32_t>(directory_, 0x02014b50);
    store_le<std::uint32_t>(directory_, 0);
    store_le<std::uint16_t>(directory_, flags());
    directory_.append(6, '\0');
    store_le<std::uint32_t>(directory_, crc);
    store_le<std::uint32_t>(directory_, static_cast<std::uint32_t>(std::min(size_, u32_cap)));
    store_le<std::uint32_t>(directory_, static_cast<std::uint32_t>(std::min(size_, u32_cap)));
    store_le<std::uint16_t>(directory_, static_cast<std::uint16_t>(name_.size()));
    store_le<std::uint16_t>(directory_, static_cast<std::uint16_t>(wide_.size()));
    directory_.append(10, '\0');
    store_le<std::uint32_t>(directory_, static_cast<std::uint32_t>(std::min(header_, u32_cap)));
    directory_ += name_ + wide_;
    ++count_;
  }

  std::string out_, directory_, names_, name_, wide_;
  std::uint64_t skipped_ = 0, size_ = 0, header_ = 0, count_ = 0;
  std::vector<std::uint32_t> crcs_;
};

ZipWriter begin_archive(std::string_view data_pickle) {
  ZipWriter zip;
  zip.record("data.pkl", data_pickle);
  zip.record(".format_version", "1");
  zip.record(".storage_alignment", "64");
  zip.record("byteorder", "little");
  return zip;
}

std::string tensor_pickle(DType dtype, std::span<const std::int64_t> shape,
                          std::uint64_t elements) {
  const bool typed = !info(dtype).storage.empty();
  PickleWriter out;
  out.global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  out.raw("((");
  out.text("storage");
  out.global(typed ? "torch" : "torch.storage", typed ? info(dtype).storage : "UntypedStorage");
  out.text("0");
  out.text("cpu");
  out.integer(static_cast<std::int64_t>(typed ? elements : elements * size_of(dtype)));
  out.raw("tQ");
  out.integer(0);
  out.tuple(shape);
  out.tuple(contiguous_strides(shape));
  out.raw("\x89");
  out.global("collections", "OrderedDict");
  out.raw(")R");
  if (!typed) {
    out.global("torch", name_of(dtype));
  }
  out.raw("tR");
  return out.done();
}

}  // namespace

void PickleWriter::global(std::string_view module, std::string_view name) {
  out_ += 'c';
  out_.append(module).append("\n").append(name).append("\n");
}

void PickleWriter::text(std::string_view value) {
  out_ += 'X';
  store_le<std::uint32_t>(out_, static_cast<std::uint32_t>(value.size()));
  out_ += value;
}

void PickleWriter::integer(std::int64_t value) {
  if (value >= 0 && value < 256) {
    out_ += 'K';
    store_le<std::uint8_t>(out_, static_cast<std::uint8_t>(value));
  } else if (value >= 0 && value < 65536) {
    out_ += 'M';
    store_le<std::uint16_t>(out_, static_cast<std::uint16_t>(value));
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    out_ += 'J';
    store_le<std::int32_t>(out_, static_cast<std::int32_t>(value));
  } else {
    out_ += "\x8a\x08";  // LONG1 of eight bytes: longer than need be, and always right
    store_le<std::int64_t>(out_, value);
  }
}

void PickleWriter::tuple(std::span<const std::int64_t> values) {
  if (values.empty()) {
    out_ += ')';
    return;
  }
  if (values.size() > 3) {
    out_ += '(';
  }
  for (const std::int64_t value : values) {
    integer(value);
  }
  out_ += values.size() > 3 ? 't' : static_cast<char>(0x84 + values.size());
}

void PickleWriter::size(std::span<const std::int64_t> values) {
  global("torch", "Size");
  tuple(values);
  out_ += "\x85R";
}

void PickleWriter::object(std::string_view module, std::string_view name) {
  global(module, name);
  out_ += ")\x81}(";
}

void PickleWriter::leaf(const Leaf& leaf) {
  const auto fields = [&](const std::vector<Leaf::Entry>& pairs) {
    out_ += "}(";
    for (const auto& [key, value] : pairs) {
      text(key);
      this->leaf(value);
    }
    out_ += 'u';
  };
  switch (leaf.value.index()) {
    case 0:
      out_ += 'N';
      break;
    case 1:
      out_ += std::get<bool>(leaf.value) ? '\x88' : '\x89';
      break;
    case 2:
      integer(std::get<std::int64_t>(leaf.value));
      break;
    case 3:
      out_ += 'G';
      store_le<std::uint64_t>(
          out_, __builtin_bswap64(std::bit_cast<std::uint64_t>(std::get<double>(leaf.value))));
      break;
    case 4:
      text(std::get<std::string>(leaf.value));
      break;
    case 5:
      out_ += '(';
      for (const Leaf& element : std::get<Leaf::Tuple>(leaf.value).of) {
        this->leaf(element);
      }
      out_ += 't';
      break;
    case 6:
      out_ += "](";
      for (const Leaf& element : std::get<Leaf::List>(leaf.value).of) {
        this->leaf(element);
      }
      out_ += 'e';
      break;
    case 7:
      fields(std::get<Leaf::Dict>(leaf.value).of);
      break;
    case 8:
      global("argparse", "Namespace");
      out_ += ")\x81";
      fields(std::get<Leaf::Namespace>(leaf.value).of);
      out_ += 'b';
      break;
  }
}

ArchiveFrame tensor_archive(DType dtype, std::span<const std::int64_t> shape, std::uint32_t crc) {
  const std::optional<std::uint64_t> elements = volume(shape);
  const std::optional<std::uint64_t> bytes =
      elements ? checked_mul(*elements, size_of(dtype)) : std::nullopt;
  ensure(bytes.has_value(), "a tensor to write has a size that fits");
  ZipWriter zip = begin_archive(tensor_pickle(dtype, shape, *elements));
  ArchiveFrame frame;
  frame.data_size = *bytes;
  frame.head = zip.split_record("data/0", *bytes, crc);
  frame.tail = zip.finish();
  return frame;
}

std::string leaf_archive(const Leaf& leaf) {
  PickleWriter pickle;
  pickle.leaf(leaf);
  ZipWriter zip = begin_archive(pickle.done());
  return zip.finish();
}

}  // namespace shardlint::checkpoint
