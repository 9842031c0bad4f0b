// Runs a fuzz target once on every file of some folders, without a fuzzer: what was found stays
// found. `replay TARGET FOLDER...`; each input must take less than a second.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// FUZZ_TARGETS (from the build): X(yaml) X(bash) ... The targets' one symbol is renamed for each.
#define X(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
FUZZ_TARGETS
#undef X

namespace {

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t*, std::size_t);
};
#define X(name) {#name, fuzz_##name},
constexpr Target targets[] = {FUZZ_TARGETS};
#undef X

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int main(int count, char** arguments) {
  const auto target = std::find_if(std::begin(targets), std::end(targets), [&](const Target& t) {
    return count > 2 && t.name == arguments[1];
  });
  if (target == std::end(targets)) {
    std::fprintf(stderr, "usage: replay TARGET FOLDER...\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::printf("1..1\n");
  bool slow = files.empty();
  for (const std::filesystem::path& file : files) {
    const std::string bytes = read(file);
    std::printf("# %s\n", file.filename().c_str());
    std::fflush(stdout);  // should it crash, this is the last line
    const std::clock_t begin = std::clock();
    target->run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (seconds > 1) {
      std::printf("# took %.1f s\n", seconds);
      slow = true;
    }
  }
  std::printf("%sok 1 - %s: %zu inputs\n", slow ? "not " : "", arguments[1], files.size());
  return slow;
}
