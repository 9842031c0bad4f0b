#include "checkpoint/zip.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/bytes.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50, end64_signature = 0x06064b50,
                        locator_signature = 0x07064b50, descriptor_signature = 0x08074b50;
constexpr std::uint64_t most_records = 4'000'000;  // names are kept in memory
constexpr std::uint64_t end_size = 22, locator_size = 20, end64_size = 56, central_size = 46,
                        local_size = 30;

// Serves small reads from blocks: the headers of an item lie close together.
class Blocks {
 public:
  explicit Blocks(const Window& window) : window_(window) {}
  std::string_view read(std::uint64_t at, std::uint64_t count) {
    if (at > window_.length || count > window_.length - at) {
      throw Error("an archive in " + window_.file->path() + " points outside itself");
    }
    if (at < begin_ || at + count > begin_ + block_.size()) {
      const std::uint64_t length = std::max<std::uint64_t>(count, block_size);
      begin_ = at;
      block_ = window_.read(at, std::min(length, window_.length - at));
    }
    return std::string_view(block_).substr(at - begin_, count);
  }

 private:
  static constexpr std::uint64_t block_size = 2048;
  const Window& window_;
  std::uint64_t begin_ = 0;
  std::string block_;
};

class Reader {
 public:
  explicit Reader(const Window& window) : window_(window), blocks_(window) {}

  ZipDirectory read() {
    std::uint64_t offset = 0, length = 0, count = 0;
    if (!find_directory(offset, length, count) || !read_entries(offset, length, count)) {
      return std::move(out_);
    }
    std::sort(out_.records.begin(), out_.records.end(),
              [](const ZipRecord& a, const ZipRecord& b) { return a.header < b.header; });
    strip_prefix();
    out_.usable = true;
    for (std::size_t i = 0; i < out_.records.size(); ++i) {
      const std::uint64_t limit = i + 1 < out_.records.size() ? out_.records[i + 1].header : offset;
      check_record(out_.records[i], limit);
    }
    return std::move(out_);
  }

 private:
  bool problem(Fault fault, std::uint64_t offset, std::string message) {
    out_.problems.push_back({fault, offset, std::move(message)});
    return false;
  }

  bool find_directory(std::uint64_t& offset, std::uint64_t& length, std::uint64_t& count) {
    if (window_.length < end_size) {
      return problem(Fault::item_not_archive, 0,
                     std::to_string(window_.length) + " bytes are too few for an archive");
    }
    const std::uint64_t end_at = window_.length - end_size;
    const std::string tail = window_.read(end_at, end_size);
    if (load_le<std::uint32_t>(tail.data()) != end_signature) {
      const bool zip = load_le<std::uint32_t>(blocks_.read(0, 4).data()) == local_signature;
      return problem(zip ? Fault::archive_directory : Fault::item_not_archive, end_at,
                     zip ? "starts as an archive but does not end as one" : "is not an archive");
    }
    count = load_le<std::uint16_t>(tail.data() + 10);
    length = load_le<std::uint32_t>(tail.data() + 12);
    offset = load_le<std::uint32_t>(tail.data() + 16);
    std::uint64_t after = end_at;
    if (end_at >= locator_size + end64_size) {
      const std::string locator = window_.read(end_at - locator_size, locator_size);
      if (load_le<std::uint32_t>(locator.data()) == locator_signature) {
        const std::uint64_t end64_at = load_le<std::uint64_t>(locator.data() + 8);
        if (end64_at > end_at - locator_size - end64_size) {
          return problem(Fault::archive_directory, end_at - locator_size,
                         "the 64-bit trailer lies outside the archive");
        }
        const std::string end64 = window_.read(end64_at, end64_size);
        if (load_le<std::uint32_t>(end64.data()) != end64_signature) {
          return problem(Fault::archive_directory, end64_at,
                         "the 64-bit trailer is not where it should be");
        }
        const auto agrees = [](std::uint64_t small, std::uint64_t cap, std::uint64_t big) {
          return small == cap || small == big;
        };
        const std::uint64_t count64 = load_le<std::uint64_t>(end64.data() + 32),
                            length64 = load_le<std::uint64_t>(end64.data() + 40),
                            offset64 = load_le<std::uint64_t>(end64.data() + 48);
        if (!agrees(count, 0xffff, count64) || !agrees(length, 0xffffffff, length64) ||
            !agrees(offset, 0xffffffff, offset64)) {
          return problem(Fault::archive_directory, end64_at,
                         "the two trailers of the archive disagree");
        }
        count = count64, length = length64, offset = offset64, after = end64_at;
      }
    }
    if (offset > after || length > after - offset || count > length / central_size ||
        count > most_records) {
      return problem(Fault::archive_directory, end_at,
                     "the directory of " + std::to_string(count) + " records and " +
                         std::to_string(length) + " bytes at " + std::to_string(offset) +
                         " does not fit into the archive");
    }
    return true;
  }

  bool read_entries(std::uint64_t offset, std::uint64_t length, std::uint64_t count) {
    // One archive of many records: a piece at a time bounds the memory.
    std::uint64_t at = offset;
    const std::uint64_t end = offset + length;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (end - at < central_size) {
        return problem(Fault::archive_directory, at, "the directory ends before its last record");
      }
      const std::string fixed(blocks_.read(at, central_size));
      const std::uint64_t name_length = load_le<std::uint16_t>(fixed.data() + 28),
                          extra_length = load_le<std::uint16_t>(fixed.data() + 30),
                          comment_length = load_le<std::uint16_t>(fixed.data() + 32);
      if (load_le<std::uint32_t>(fixed.data()) != central_signature ||
          end - at - central_size < name_length + extra_length + comment_length) {
        return problem(Fault::archive_directory, at,
                       "entry " + std::to_string(i) + " of the directory is damaged");
      }
      ZipRecord record;
      record.name = blocks_.read(at + central_size, name_length);
      record.crc = load_le<std::uint32_t>(fixed.data() + 16);
      record.compressed = load_le<std::uint16_t>(fixed.data() + 10) != 0;
      std::uint64_t stored = load_le<std::uint32_t>(fixed.data() + 20);
      record.size = load_le<std::uint32_t>(fixed.data() + 24);
      record.header = load_le<std::uint32_t>(fixed.data() + 42);
      wide_sizes(std::string(blocks_.read(at + central_size + name_length, extra_length)), record,
                 stored);
      if (record.compressed) {
        problem(Fault::archive_compressed, at, "record " + record.name + " is compressed");
      }
      if (record.header > offset || local_size > offset - record.header ||
          stored > offset - record.header || (!record.compressed && stored != record.size)) {
        return problem(Fault::archive_directory, at,
                       "record " + record.name + " lies outside the archive");
      }
      out_.records.push_back(std::move(record));
      at += central_size + name_length + extra_length + comment_length;
    }
    return true;
  }

  // The 64-bit extra field replaces those of size, stored size and offset that are all ones.
  static void wide_sizes(const std::string& extra, ZipRecord& record, std::uint64_t& stored) {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
      const std::size_t length = load_le<std::uint16_t>(extra.data() + at + 2);
      if (length > extra.size() - at - 4) {
        return;
      }
      if (load_le<std::uint16_t>(extra.data() + at) == 1) {
        std::size_t from = at + 4;
        for (std::uint64_t* field : {&record.size, &stored, &record.header}) {
          if (*field == 0xffffffff && from + 8 <= at + 4 + length) {
            *field = load_le<std::uint64_t>(extra.data() + from);
            from += 8;
          }
        }
        return;
      }
      at += 4 + length;
    }
  }

  void strip_prefix() {
    if (out_.records.empty()) {
      return;
    }
    const std::string& first = out_.records.front().name;
    const std::size_t slash = first.find('/');
    out_.prefix = slash == std::string::npos ? "" : first.substr(0, slash + 1);
    for (ZipRecord& record : out_.records) {
      if (!record.name.starts_with(out_.prefix)) {
        problem(Fault::archive_directory, record.header,
                "record " + record.name + " is not below " + out_.prefix);
        continue;
      }
      record.name.erase(0, out_.prefix.size());
    }
  }

  void check_record(ZipRecord& record, std::uint64_t limit) {
    const auto wrong = [&](std::uint64_t at, const std::string& what) {
      problem(Fault::archive_record, at, "record " + record.name + ": " + what);
      out_.usable = false;
    };
    if (limit - record.header < local_size) {
      return wrong(record.header, "overlaps the next one");
    }
    const std::string fixed(blocks_.read(record.header, local_size));
    const std::uint16_t flags = load_le<std::uint16_t>(fixed.data() + 6);
    const std::uint64_t name_length = load_le<std::uint16_t>(fixed.data() + 26),
                        extra_length = load_le<std::uint16_t>(fixed.data() + 28);
    if (load_le<std::uint32_t>(fixed.data()) != local_signature) {
      return wrong(record.header, "no header where the directory says");
    }
    if ((load_le<std::uint16_t>(fixed.data() + 8) != 0) != record.compressed) {
      return wrong(record.header, "header and directory name different methods");
    }
    const std::uint64_t room = limit - record.header - local_size;
    if (name_length + extra_length > room ||
        (!record.compressed && record.size > room - name_length - extra_length)) {
      return wrong(record.header,
                   std::to_string(record.size) + " bytes do not fit before the next record");
    }
    if (blocks_.read(record.header + local_size, name_length) != out_.prefix + record.name) {
      return wrong(record.header, "its header has another name");
    }
    record.data = record.header + local_size + name_length + extra_length;
    if (record.compressed) {
      return;
    }
    const std::uint64_t end = record.data + record.size;
    if ((flags & 8) != 0 && limit - end >= 16) {
      const std::string descriptor(blocks_.read(end, 16));
      if (load_le<std::uint32_t>(descriptor.data()) != descriptor_signature ||
          load_le<std::uint32_t>(descriptor.data() + 4) != record.crc) {
        // The bytes themselves are where the directory says: still usable.
        problem(Fault::archive_record, end,
                "record " + record.name + ": what follows its bytes disagrees with the directory");
      }
    } else if ((flags & 8) == 0 && load_le<std::uint32_t>(fixed.data() + 14) != record.crc &&
               record.size != 0) {
      problem(Fault::archive_record, record.header,
              "record " + record.name + ": header and directory have different checksums");
    }
  }

  const Window& window_;
  Blocks blocks_;
  ZipDirectory out_;
};

}  // namespace

const ZipRecord* ZipDirectory::find(std::string_view name) const {
  for (const ZipRecord& record : records) {
    if (record.name == name) {
      return &record;
    }
  }
  return nullptr;
}

ZipDirectory read_zip(const Window& window) {
  return Reader(window).read();
}

bool starts_like_zip(const Window& window) {
  return window.length >= 4 && load_le<std::uint32_t>(window.read(0, 4).data()) == local_signature;
}

}  // namespace shardlint::checkpoint
