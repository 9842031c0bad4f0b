#include "frontend/python/parsed_files.h"

#include "frontend/grammars/grammars.h"
#include "frontend/python/tree.h"

namespace shardlint::python {
namespace {

// Older files than so many are parsed again when somebody asks for them.
constexpr std::size_t max_files = 2000;

std::shared_ptr<const ParsedFile> parse(const std::string& path, const Disk& disk, Names& names) {
  const auto size = disk.size(path);
  auto text = size && *size <= max_parsed_bytes ? disk.read(path) : std::nullopt;
  if (!text) {
    return nullptr;
  }
  auto file = std::make_shared<ParsedFile>(path, std::move(*text));
  Parsed parsed = read_syntax(file->source, names);
  file->syntax = std::move(parsed.syntax);
  file->problems = std::move(parsed.problems);
  return file;
}

}  // namespace

std::shared_ptr<const ParsedFile> ParsedFiles::open(const std::string& path, const Disk& disk,
                                                    Names& names) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    if (slots_.size() >= max_files && slots_.count(path) == 0) {
      slots_.clear();
    }
    std::shared_ptr<Slot>& known = slots_[path];
    if (!known) {
      known = std::make_shared<Slot>();
    }
    slot = known;
  }
  std::call_once(slot->once, [&] { slot->file = parse(path, disk, names); });
  return slot->file;
}

}  // namespace shardlint::python
