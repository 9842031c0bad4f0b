// The writer against the reader: any number of ranks in, any region out.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/checksum.h"
#include "checkpoint/reader.h"
#include "checkpoint/tiling.h"
#include "checkpoint/writer.h"

using namespace shardlint;
using namespace shardlint::checkpoint;

namespace {

struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "shardlint-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

// w: (rows, columns) float32 counting up, cut by rows.
WritePlan counting(std::int64_t rows, std::int64_t columns, std::uint32_t ranks) {
  WritePlan plan;
  plan.ranks = ranks;
  plan.tensors = {{"model.w", DType::float32, {rows, columns}, {"model", "w"}}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t begin = rows * rank / ranks, end = rows * (rank + 1) / ranks;
    plan.shards.push_back({0, rank, {begin, 0}, {end - begin, columns}});
  }
  plan.objects = {{"step", {std::int64_t{7}}, {"step"}}};
  return plan;
}

void write_all(const Save& save, std::int64_t columns, std::uint32_t ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<float> values;
    save.write_rank(rank, [&](const WriteShard& shard) {
      values.resize(volume(shard.sizes).value());
      std::iota(values.begin(), values.end(), static_cast<float>(shard.offsets[0] * columns));
      return std::as_bytes(std::span(values));
    });
  }
}

}  // namespace

TEST_SUITE("checkpoint-writer") {
  TEST_CASE("what one number of ranks wrote, another reads") {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 8u}) {
      CAPTURE(ranks);
      const TemporaryFolder folder;
      const std::string directory = folder.path + "/iter_0000007";
      const Save save(directory, counting(7, 5, ranks));
      write_all(save, 5, ranks);
      CHECK_FALSE(std::filesystem::exists(directory));  // nothing to see before the commit
      save.commit();
      CHECK(RealDisk().list(folder.path) == std::vector<std::string>{"iter_0000007"});

      const Checkpoint checkpoint = open_for_reading(directory);
      CHECK(checkpoint.findings.empty());
      REQUIRE(checkpoint.tensors.size() == 1);
      const Tensor& tensor = checkpoint.tensors[0];
      CHECK(tensor.shape == Shape{7, 5});
      FilePool files;
      for (std::int64_t row = 0; row < 7; ++row) {
        for (std::int64_t column = 0; column < 5; ++column) {
          std::vector<float> got(static_cast<std::size_t>((7 - row) * (5 - column)));
          read_region(checkpoint, tensor, Shape{row, column}, Shape{7 - row, 5 - column},
                      std::as_writable_bytes(std::span(got)), files);
          CHECK(got.front() == static_cast<float>(row * 5 + column));
          CHECK(got.back() == 34);
        }
      }
    }
  }
  TEST_CASE("a plan that does not tile, a rank that did not write, a directory in use") {
    const TemporaryFolder folder;
    WritePlan hole = counting(4, 4, 2);
    hole.shards.pop_back();
    CHECK_THROWS_AS(Save(folder.path + "/a", hole), Error);
    WritePlan twice = counting(4, 4, 2);
    twice.shards[1].offsets[0] = 1;
    CHECK_THROWS_AS(Save(folder.path + "/a", twice), Error);
    const Save save(folder.path + "/b", counting(4, 4, 2));
    CHECK_THROWS_AS(save.commit(), Error);
    CHECK_FALSE(std::filesystem::exists(folder.path + "/b"));
    std::filesystem::create_directory(folder.path + "/c");
    std::ofstream(folder.path + "/c/file") << "x";
    CHECK_THROWS_AS(Save(folder.path + "/c", counting(4, 4, 1)), Error);
  }
  TEST_CASE("checksums join") {
    const std::string text = "the quick brown fox jumps over the lazy dog";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      const std::string_view a = std::string_view(text).substr(0, cut),
                             b = std::string_view(text).substr(cut);
      CHECK(crc32_joined(crc32(0, as_bytes(a)), crc32(0, as_bytes(b)), b.size()) ==
            crc32(0, as_bytes(text)));
    }
  }
  TEST_CASE("boxes tile a tensor or not") {
    struct Row {
      const char* what;
      Shape shape;
      std::vector<std::pair<Shape, Shape>> boxes;
      std::size_t outside, overlaps;
      bool exact;
    };
    const Row rows[] = {
        {"rows", {4, 4}, {{{0, 0}, {2, 4}}, {{2, 0}, {2, 4}}}, 0, 0, true},
        {"a grid",
         {4, 4},
         {{{0, 0}, {2, 2}}, {{2, 2}, {2, 2}}, {{0, 2}, {2, 2}}, {{2, 0}, {2, 2}}},
         0,
         0,
         true},
        {"a pinwheel",
         {3, 3},
         {{{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}, {{1, 1}, {1, 1}}},
         0,
         0,
         true},
        {"a hole", {4, 4}, {{{0, 0}, {2, 4}}}, 0, 0, false},
        {"an overlap and a hole of one size", {4}, {{{0}, {2}}, {{1}, {2}}}, 0, 1, false},
        {"an overlap", {4, 4}, {{{0, 0}, {3, 4}}, {{2, 0}, {2, 4}}}, 0, 1, false},
        {"outside", {4}, {{{0}, {4}}, {{3}, {2}}}, 1, 0, true},
        {"offsets near the limit", {4}, {{{INT64_MAX}, {INT64_MAX}}}, 1, 0, false},
        {"a scalar", {}, {{{}, {}}}, 0, 0, true},
        {"a scalar twice", {}, {{{}, {}}, {{}, {}}}, 0, 1, false},
        {"an empty tensor", {0, 4}, {}, 0, 0, true},
        {"empty pieces at the end", {4}, {{{0}, {4}}, {{4}, {0}}}, 0, 0, true},
    };
    for (const Row& row : rows) {
      CAPTURE(row.what);
      std::vector<Box> boxes;
      for (const auto& [offsets, sizes] : row.boxes) {
        boxes.push_back({offsets, sizes});
      }
      const Tiling tiling = tile(row.shape, boxes);
      CHECK(tiling.outside.size() == row.outside);
      CHECK(tiling.overlaps.size() == row.overlaps);
      CHECK((tiling.overlaps.empty() && tiling.covered == tiling.wanted) == row.exact);
    }
  }
}
