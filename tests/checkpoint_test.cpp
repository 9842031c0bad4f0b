// The reader and the checks: a folder of damaged checkpoints, damage made afresh from a good one,
// and tables for the pickle machine and the formats.
#include "shardlint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/fault.h"
#include "checkpoint/inspect.h"
#include "checkpoint/metadata_writer.h"
#include "checkpoint/pickle.h"
#include "checkpoint/plan.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/scan.h"
#include "checkpoint/sha256.h"
#include "checkpoint/slabs.h"
#include "checkpoint/writer.h"
#include "checkpoint/xxh64.h"

using namespace shardlint;
using namespace shardlint::checkpoint;
namespace fs = std::filesystem;
using namespace std::string_literals;

namespace {

std::string source_root() {
  const char* root = std::getenv("SHARDLINT_SOURCE_ROOT");
  return root != nullptr ? root : ".";
}

// "CKD170 error ckpt/__1_0.distcp model.w", one a finding.
std::vector<std::string> findings(const std::string& path, const std::string& relative_to,
                                  bool deep = true) {
  std::vector<std::string> lines;
  CheckpointOptions options;
  options.deep = deep;
  for (const Diagnostic& d : check_checkpoint(path, options)) {
    const char* severity = d.severity == Severity::error     ? "error"
                           : d.severity == Severity::warning ? "warning"
                                                             : "info";
    lines.push_back(d.code + " " + severity + " " +
                    fs::path(d.where.file)
                        .lexically_normal()
                        .lexically_relative(fs::path(relative_to).lexically_normal())
                        .string() +
                    " " + (d.instance.empty() ? "-" : d.instance));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

struct Folder {
  std::string path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "shardlint-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

// w: (4, 4) float32, rows 0-1 on rank 0, rows 2-3 on rank 1.
WritePlan two_ranks() {
  WritePlan plan;
  plan.ranks = 2;
  plan.tensors = {{"model.w", DType::float32, {4, 4}, {"model", "w"}}};
  plan.shards = {{0, 0, {0, 0}, {2, 4}}, {0, 1, {2, 0}, {2, 4}}};
  plan.objects = {{"step", {std::int64_t{7}}, {"step"}}};
  plan.save_id = "00000000-0000-4000-8000-000000000000";
  return plan;
}

void write(const std::string& directory, const WritePlan& plan, float base = 1) {
  const Save save(directory, plan);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    std::vector<float> values;
    save.write_rank(rank, [&](const WriteShard& shard) {
      values.assign(volume(shard.sizes).value(), base + static_cast<float>(rank));
      values.front() = 100;
      return std::as_bytes(std::span(values));
    });
  }
  save.commit();
}

void patch(const std::string& path, std::uint64_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void rewrite_metadata(const std::string& directory, WritePlan plan,
                      std::vector<WrittenPiece> shards, WrittenPiece step) {
  std::ofstream(directory + "/.metadata", std::ios::binary | std::ios::trunc)
      << metadata_pickle(plan, shards, std::vector{step}, directory);
}

std::uint64_t size_of_file(const std::string& path) {
  return fs::file_size(path);
}

std::string pickle_text(const pickle::Pickle& p, const pickle::Value& v) {
  using pickle::Kind;
  switch (v.kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return v.boolean ? "True" : "False";
    case Kind::integer:
      return std::to_string(v.integer);
    case Kind::real:
      return std::to_string(v.real);
    case Kind::text:
      return "'" + std::string(p.text(v)) + "'";
    case Kind::global:
      return std::string(p.global(v)->module) + "." + std::string(p.global(v)->name);
    case Kind::object:
      return "call(" + pickle_text(p, p.object(v)->callable) + ", " +
             pickle_text(p, p.object(v)->arguments) + ")";
    case Kind::tuple:
    case Kind::list: {
      std::string out = v.kind == Kind::tuple ? "(" : "[";
      for (std::size_t i = 0; i < p.size(v); ++i) {
        out += (i ? ", " : "") + pickle_text(p, p.elements(v)[i]);
      }
      return out + (v.kind == Kind::tuple ? ")" : "]");
    }
    case Kind::dict: {
      std::string out = "{";
      for (std::size_t i = 0; i + 1 < p.pairs(v)->size(); i += 2) {
        out += (i ? ", " : "") + pickle_text(p, (*p.pairs(v))[i]) + ": " +
               pickle_text(p, (*p.pairs(v))[i + 1]);
      }
      return out + "}";
    }
    default:
      return "?";
  }
}

}  // namespace

TEST_SUITE("checkpoint") {
  TEST_CASE("every folder of fixtures/checkpoint says what its name says") {
    const std::string root = source_root() + "/fixtures/checkpoint";
    std::size_t seen = 0;
    for (const std::string& name : RealDisk().list(root)) {
      CAPTURE(name);
      const std::string folder = root + "/" + name;
      const std::vector<std::string> expected = lines_of(folder + "/expected.txt");
      const std::vector<std::string> got = findings(folder + "/ckpt", folder);
      CHECK(join(got, "\n") == join(expected, "\n"));
      CHECK(expected.empty() == name.starts_with("good"));
      ++seen;
    }
    CHECK(seen >= 105);
  }

  TEST_CASE("damage made afresh") {
    using Damage = std::function<void(const std::string& directory)>;
    const std::string r0 = "/__0_0.distcp", r1 = "/__1_0.distcp";
    struct Row {
      const char* what;
      Damage damage;
      std::vector<std::string> expected;
    };
    // The writer's layout of this plan, to rewrite the description with.
    const auto pieces = [&](const std::string& d) {
      const std::uint64_t item = size_of_file(d + r1);
      return std::vector<WrittenPiece>{{"__0_0.distcp", size_of_file(d + r0) - item, item},
                                       {"__1_0.distcp", 0, item}};
    };
    const auto step = [&](const std::string& d) {
      return WrittenPiece{"__0_0.distcp", 0, size_of_file(d + r0) - size_of_file(d + r1)};
    };
    const Row rows[] = {
        {"nothing", [](const std::string&) {}, {}},
        {"a flipped bit",
         [&](const std::string& d) { patch(d + r1, 705, "\x01"); },
         {"CKD170 error ckpt/__1_0.distcp model.w"}},
        {"a truncated file",
         [&](const std::string& d) { fs::resize_file(d + r1, 700); },
         {"CKD130 error ckpt/__1_0.distcp model.w"}},
        {"an empty file",
         [&](const std::string& d) { fs::resize_file(d + r1, 0); },
         {"CKD105 error ckpt/__1_0.distcp model.w"}},
        {"a missing rank file",
         [&](const std::string& d) { fs::remove(d + r1); },
         {"CKD104 error ckpt/__1_0.distcp model.w"}},
        {"a hole",
         [&](const std::string& d) {
           WritePlan plan = two_ranks();
           plan.shards.pop_back();
           std::vector<WrittenPiece> list = pieces(d);
           list.pop_back();
           rewrite_metadata(d, plan, list, step(d));
           fs::remove(d + r1);
         },
         {"CKD135 error ckpt/.metadata model.w"}},
        {"an overlap",
         [&](const std::string& d) {
           WritePlan plan = two_ranks();
           plan.shards[1].offsets[0] = 1;
           rewrite_metadata(d, plan, pieces(d), step(d));
         },
         {"CKD134 error ckpt/__1_0.distcp model.w"}},
        {"shared bytes",
         [&](const std::string& d) {
           std::vector<WrittenPiece> list = pieces(d);
           list[1] = list[0];
           rewrite_metadata(d, two_ranks(), list, step(d));
           fs::remove(d + r1);
         },
         {"CKD131 error ckpt/__0_0.distcp model.w"}},
        {"a short length",
         [&](const std::string& d) {
           std::vector<WrittenPiece> list = pieces(d);
           list[1].length -= 40;
           rewrite_metadata(d, two_ranks(), list, step(d));
         },
         {"CKD132 info ckpt/__1_0.distcp -", "CKD151 error ckpt/__1_0.distcp model.w"}},
        {"a rank file of another save, a day older",
         [&](const std::string& d) {
           const Folder other;
           write(other.path + "/ckpt", two_ranks(), 5);
           fs::copy_file(other.path + "/ckpt" + r1, d + r1, fs::copy_options::overwrite_existing);
           fs::last_write_time(d + r1, fs::last_write_time(d + r0) - std::chrono::hours(24));
         },
         {"CKD111 warning ckpt/__1_0.distcp model.w"}},
        {"an overwriting save that broke off",
         [&](const std::string& d) {
           fs::last_write_time(d + "/.metadata",
                               fs::last_write_time(d + r0) - std::chrono::minutes(5));
         },
         {"CKD110 warning ckpt/__1_0.distcp -"}},
        {"no metadata",
         [&](const std::string& d) { fs::remove(d + "/.metadata"); },
         {"CKD101 error ckpt -"}},
        {"another element type",
         [&](const std::string& d) {
           WritePlan plan = two_ranks();
           plan.tensors[0].dtype = DType::int32;
           rewrite_metadata(d, plan, pieces(d), step(d));
         },
         {"CKD159 error ckpt/__0_0.distcp model.w", "CKD159 error ckpt/__1_0.distcp model.w"}},
        {"a sparse file",
         [&](const std::string& d) {
           const std::uint64_t size = size_of_file(d + r1);
           fs::resize_file(d + r1, size + (1 << 20));
         },
         {"CKD108 warning ckpt/__1_0.distcp -", "CKD132 info ckpt/__1_0.distcp -"}},
    };
    for (const Row& row : rows) {
      CAPTURE(row.what);
      const Folder folder;
      const std::string directory = folder.path + "/ckpt";
      write(directory, two_ranks());
      row.damage(directory);
      CHECK(join(findings(directory, folder.path), "\n") == join(row.expected, "\n"));
    }
  }

  TEST_CASE("values that are not finite") {
    const Folder folder;
    write(folder.path + "/ckpt", two_ranks(), NAN);
    const std::vector<Diagnostic> found = check_checkpoint(folder.path + "/ckpt", {true, 2, {}});
    REQUIRE(found.size() == 2);
    CHECK(found[0].code == "CKD174");
    CHECK(found[0].message ==
          "model.w: 7 NaN and 0 infinite values, the first at element 1 of the piece at (0, 0)");
    CHECK(found[0].where.begin.offset > 0);
    CHECK(check_checkpoint(folder.path + "/ckpt").empty());  // only a deep check reads values
  }

  TEST_CASE("an unfinished save is invisible, and the writer's output is sound") {
    const Folder folder;
    const std::string directory = folder.path + "/ckpt";
    const Save save(directory, two_ranks());
    CHECK_THROWS_AS(check_checkpoint(directory), Error);
    write(folder.path + "/other", two_ranks());
    CHECK(findings(folder.path + "/other", folder.path).empty());
  }

  TEST_CASE("inspect and diff") {
    const Folder folder;
    WritePlan one = two_ranks();
    one.ranks = 1;
    one.shards = {{0, 0, {0, 0}, {4, 4}}};
    write(folder.path + "/a", two_ranks());
    write(folder.path + "/b", one);
    const CheckpointSummary summary = inspect_checkpoint(folder.path + "/a");
    REQUIRE(summary.parts.size() == 1);
    REQUIRE(summary.parts[0].tensors.size() == 1);
    CHECK(summary.parts[0].tensors[0].name == "model.w");
    CHECK(summary.parts[0].tensors[0].dtype == "float32");
    CHECK(summary.parts[0].tensors[0].pieces == 2);
    CHECK(summary.parts[0].tensors[0].bytes == 64);
    CHECK(summary.parts[0].objects == std::vector<std::string>{"step"});
    const std::vector<TensorDifference> same =
        diff_checkpoints(folder.path + "/a", folder.path + "/a");
    CHECK(same[0].verdict == "equal");
    CHECK(same[0].digest_a == same[0].digest_b);
    // Rank 1 wrote 2 where the single rank wrote 1, and another first element.
    const std::vector<TensorDifference> other =
        diff_checkpoints(folder.path + "/a", folder.path + "/b");
    CHECK(other[0].verdict == "values");
    CHECK(other[0].differing == 8);
    CHECK(other[0].largest_absolute == 99);
  }

  TEST_CASE("what torch, Megatron-LM, verl and transformers wrote is read as torch reads it") {
    // digests.txt: name, element type, shape and XXH64 of the values of every tensor, as torch
    // loaded them when the fixture was made.
    const std::string root = source_root() + "/fixtures/checkpoint/";
    std::size_t tensors = 0;
    for (const std::string& name : RealDisk().list(root)) {
      const std::string recorded = root + name + "/digests.txt";
      if (!RealDisk().is_file(recorded)) {
        continue;
      }
      CAPTURE(name);
      std::vector<std::string> got;
      for (const TensorStatistics& t : tensor_statistics(root + name + "/ckpt", "*")) {
        got.push_back(join({t.name, t.dtype, t.shape, t.digest}, "\t"));
      }
      std::sort(got.begin(), got.end());
      tensors += got.size();
      std::vector<std::string> wanted = lines_of(recorded);
      std::sort(wanted.begin(), wanted.end());
      CHECK(join(got, "\n") == join(wanted, "\n"));
    }
    CHECK(tensors >= 730);
  }

  TEST_CASE("parameters that ranks share are equal by right, a whole rank is not") {
    const Folder folder;
    const std::string good = source_root() + "/fixtures/checkpoint/good-megatron-torch-plain-tp2",
                      at = folder.path + "/ckpt";
    fs::copy(good + "/ckpt", at, fs::copy_options::recursive);
    const std::string rank0 = at + "/iter_0000004/mp_rank_00/model_optim_rng.pt",
                      rank1 = at + "/iter_0000004/mp_rank_01/model_optim_rng.pt";
    fs::copy_file(rank0, rank1, fs::copy_options::overwrite_existing);
    const std::vector<std::string> got = findings(at, folder.path);
    CHECK(join(got, "\n") == "CKD179 warning ckpt/iter_0000004/mp_rank_01/model_optim_rng.pt -");
  }

  TEST_CASE("gaps between the parameters of a bucket may hold anything") {
    const std::string key =
        "optimizer.distributed.dp_group_idx_0.gbuf_idx_0.dtype_x.bucket_idx_0.exp_avg_sq";
    struct Row {
      std::int64_t gap;
      std::string expected;
    };
    const std::string where = " warning ckpt/__0_0.distcp " + key;
    const std::string named = "CKD175" + where + "\nCKD176" + where;
    for (const Row& row : {Row{63, ""}, Row{64, named}}) {
      CAPTURE(row.gap);
      const Folder folder;
      WritePlan plan;
      plan.ranks = 1;
      plan.tensors = {{key, DType::float32, {row.gap + 100}, {key}},
                      {"decoder.w", DType::float32, {2}, {"decoder.w"}}};
      plan.shards = {{0, 0, {0}, {100}}, {0, 0, {100}, {row.gap}}, {1, 0, {0}, {2}}};
      plan.save_id = "00000000-0000-4000-8000-000000000000";
      const Save save(folder.path + "/ckpt", plan);
      std::vector<float> values;
      save.write_rank(0, [&](const WriteShard& shard) {
        values.assign(volume(shard.sizes).value(), 1);
        if (shard.offsets[0] == 100) {
          values[0] = -1;
          values[1] = std::numeric_limits<float>::quiet_NaN();
        }
        return std::as_bytes(std::span(values));
      });
      save.commit();
      CHECK(join(findings(folder.path + "/ckpt", folder.path), "\n") == row.expected);
    }
  }

  TEST_CASE("the pickle machine") {
    struct Row {
      std::string input, expected;  // expected begins with ! when it is a refusal
    };
    const Row rows[] = {
        {"\x80\x02K\x07."s, "7"},
        {"\x80\x02}q\x00(X\x01\x00\x00\x00"
         "aK\x01X\x01\x00\x00\x00"
         "b\x88u."s,
         "{'a': 1, 'b': True}"},
        {"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x01"
         "a\x94h\x00\x86\x94."s,
         "!truncated: a frame that ends outside the file"},
        {"\x80\x04\x8c\x01"
         "a\x94h\x00\x86\x94."s,
         "('a', 'a')"},
        {"\x80\x02"
         "cposix\nsystem\nX\x02\x00\x00\x00lsq\x00\x85R."s,
         "call(posix.system, ('ls'))"},
        {"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s, "?"},
        {"\x80\x02\x8a\x05\x00\x00\x00\x00\x80."s, "-549755813888"},
        {"\x80\x02\x8a\x00."s, "0"},
        {"\x80\x02G\x3f\xd0\x00\x00\x00\x00\x00\x00."s, "0.250000"},
        {"\x80\x02](K\x01K\x02"
         "e."s,
         "[1, 2]"},
        {"\x80\x06N."s, "!a protocol above 5"},
        {"\x80\x02X\xff\xff\xff\x7f."s, "!truncated: 2147483647 bytes wanted at 7 of 8"},
        {"\x80\x02R."s, "!stack is empty"},
        {"\x80\x02t."s, "!no mark on the stack"},
        {"\x80\x02NN."s, "!stop with 2 values instead of one"},
        {"\x80\x02(N."s, "!stop with 1 values instead of one"},
        {"\x80\x02h\x05."s, "!memo has no entry 5"},
        {"\x80\x02Nr\xff\xff\xff\xff."s, "!memo index 4294967295 is out of order"},
        {"\x80\x02NNb."s, "!state given to a value that is no object"},
        {"\x80\x02NNa."s, "!items added to a value that holds none"},
        {"\x80\x02}(K\x01u."s, "!a key without a value"},
        {"\x80\x02](N0."s, "!stop with 1 values instead of one"},
        {"\x80\x02(ios\nsystem\n."s, "!opcode 0x69, which no checkpoint uses"},
        {"cos"s, "!truncated: a name without its end"},
        {""s, "!truncated: 1 bytes wanted at 0 of 0"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.expected);
      std::string got;
      try {
        const pickle::Pickle pickle = pickle::run(row.input);
        got = pickle_text(pickle, pickle.root);
      } catch (const pickle::Fault& fault) {
        got = "!"s + fault.what();
      }
      CHECK(got == row.expected);
    }
  }

  TEST_CASE("a small pickle cannot grow large") {
    // Each list holds the one before it ten times: 10^40 elements were they copied.
    std::string bomb = "\x80\x02]q\x00"s;
    for (char i = 0; i < 40; ++i) {
      bomb += "]q"s + static_cast<char>(i + 1) + "(";
      for (int k = 0; k < 10; ++k) {
        bomb += "h"s + i;
      }
      bomb += "e";
    }
    bomb += "\x85";
    for (int i = 0; i < 40; ++i) {
      bomb += "\x86";
    }
    CHECK_NOTHROW(pickle::run(bomb + "."));
    Checkpoint into;
    parse_safetensors_header(std::string(200'000, '['), 0, 0, 0, "deep", into);
    CHECK(into.findings.size() == 1);
    pickle::Limits few;
    few.values = 100;
    CHECK_THROWS_AS(pickle::run(bomb + ".", few), pickle::Fault);
  }

  TEST_CASE("values of every float type") {
    struct Row {
      DType dtype;
      std::string bytes;
      double expected;
    };
    const Row rows[] = {
        {DType::float16, "\x00\x3c"s, 1},
        {DType::float16, "\x01\x00"s, std::ldexp(1, -24)},
        {DType::float16, "\xff\xfb"s, -65504},
        {DType::bfloat16, "\xc0\x3f"s, 1.5},
        {DType::float8_e4m3fn, "\x7e"s, 448},
        {DType::float8_e4m3fn, "\x01"s, std::ldexp(1, -9)},
        {DType::float8_e5m2, "\x7b"s, 57344},
        {DType::float8_e4m3fnuz, "\x7f"s, 240},
        {DType::float8_e5m2fnuz, "\x7f"s, 57344},
        {DType::float8_e8m0fnu, "\x80"s, 2},
        {DType::boolean, "\x01"s, 1},
        {DType::int8, "\xff"s, -1},
        {DType::uint8, "\xff"s, 255},
    };
    for (const Row& row : rows) {
      CAPTURE(name_of(row.dtype));
      CHECK(element(row.dtype, reinterpret_cast<const std::byte*>(row.bytes.data())) ==
            row.expected);
    }
    for (const auto& [dtype, bytes] : {std::pair{DType::float16, "\x01\x7c"s},
                                       {DType::bfloat16, "\x81\xff"s},
                                       {DType::float8_e4m3fn, "\xff"s},
                                       {DType::float8_e5m2, "\x7d"s},
                                       {DType::float8_e4m3fnuz, "\x80"s}}) {
      CHECK(std::isnan(element(dtype, reinterpret_cast<const std::byte*>(bytes.data()))));
    }
    // The fast pass sees what the exact one counts.
    std::vector<float> values(1000, 1.0F);
    const auto bytes = [&] { return std::as_bytes(std::span(values)); };
    CHECK_FALSE(has_not_finite(DType::float32, extremes(DType::float32, bytes())));
    CHECK_FALSE(has_negative(DType::float32, extremes(DType::float32, bytes())));
    values[777] = -0.0F;
    CHECK_FALSE(has_negative(DType::float32, extremes(DType::float32, bytes())));
    values[777] = -1e-42F;
    CHECK(has_negative(DType::float32, extremes(DType::float32, bytes())));
    values[3] = -INFINITY;
    CHECK(has_not_finite(DType::float32, extremes(DType::float32, bytes())));
    CHECK(count(DType::float32, bytes()).first_bad == 3);
    CHECK(count(DType::float32, bytes()).infinite == 1);
  }

  TEST_CASE("digests are the published ones") {
    const auto xxh = [](std::string_view text) {
      Xxh64 hash;
      for (const char& c : text) {
        hash.add(as_bytes(std::string_view(&c, 1)));
      }
      return hash.text();
    };
    CHECK(xxh("") == "ef46db3751d8e999");
    CHECK(xxh("abc") == "44bc2cf5ad770999");
    CHECK(xxh("Nobody inspects the spammish repetition") == "fbcea83c8a378bf1");
    const Folder folder;
    std::ofstream(folder.path + "/abc") << "abc";
    std::ofstream(folder.path + "/none") << "";
    CHECK(sha256_of_file(folder.path + "/abc") ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_of_file(folder.path + "/none") ==
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  }

  TEST_CASE("slabs follow one another in C order") {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 3, 4}, Shape{4, 1, 9}}) {
      for (const std::uint64_t most : {1u, 2u, 5u, 12u, 1000u}) {
        std::uint64_t at = 0;
        for_each_slab(shape, most, [&](const Shape& offsets, const Shape& sizes) {
          std::uint64_t linear = 0;
          for (std::size_t d = 0; d < shape.size(); ++d) {
            linear = linear * static_cast<std::uint64_t>(shape[d]) +
                     static_cast<std::uint64_t>(offsets[d]);
          }
          CHECK(linear == at);
          CHECK(volume(sizes).value() <= most);
          at += volume(sizes).value();
        });
        CHECK(at == volume(shape).value());
      }
    }
  }

  TEST_CASE("a configuration against the checkpoint that it resumes from") {
    // A torch_dist checkpoint saved with TP 1, 2 layers and bucketed optimizer state.
    const Folder folder;
    WritePlan plan = two_ranks();
    using Field = Leaf::Entry;
    const Leaf args{Leaf::Namespace{{Field{"num_layers", {std::int64_t{2}}},
                                     Field{"hidden_size", {std::int64_t{64}}},
                                     Field{"num_attention_heads", {std::int64_t{4}}},
                                     Field{"tensor_model_parallel_size", {std::int64_t{1}}},
                                     Field{"pipeline_model_parallel_size", {std::int64_t{1}}},
                                     Field{"no_save_optim", {false}}}}};
    const Leaf content{Leaf::Dict{{Field{"distrib_optim_sharding_type", {"dp_reshardable"s}}}}};
    const Leaf common{
        Leaf::List{{Leaf{Leaf::Dict{{Field{"args", args}, Field{"iteration", {std::int64_t{7}}},
                                     Field{"content_metadata", content}}}}}}};
    plan.objects = {{"common_state/shard_0_1", common, {}},
                    {"optimizer.distributed.dp_group_idx_0.k/shard_0_1", {std::int64_t{1}}, {}}};
    write(folder.path + "/iter_0000007", plan);
    std::ofstream(folder.path + "/iter_0000007/metadata.json")
        << R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})";
    std::ofstream(folder.path + "/latest_checkpointed_iteration.txt") << "7";
    CHECK(findings(folder.path, folder.path).empty());

    using Set = std::vector<std::pair<std::string, Value>>;
    struct Row {
      const char* framework;
      bool closed;
      Set set;
      std::string expected;
    };
    const Row rows[] = {
        {"megatron-lm", true, {{"num_layers", 2}, {"hidden_size", 64}}, ""},
        {"megatron-lm",
         true,
         {{"num_layers", 4}},
         "CKD204 num_layers is 4, the checkpoint was saved with 2 (its arguments)"},
        {"megatron-lm", true, {{"num_layers", 4}, {"finetune", true}}, ""},
        {"megatron-lm", true, {{"num_layers", unknown(Reason::environment, "$LAYERS")}}, ""},
        {"megatron-lm", true, {{"tensor_model_parallel_size", 2}}, ""},
        {"megatron-lm",
         true,
         {{"tensor_model_parallel_size", 2}, {"use_distributed_optimizer", true}},
         "CKD203 tensor and pipeline sizes are 2 and 1, the checkpoint was saved with 1 and 1, and "
         "the optimizer state was saved as dp_reshardable, which cannot be resharded"},
        {"megatron-lm",
         true,
         {{"tensor_model_parallel_size", 2},
          {"use_distributed_optimizer", true},
          {"no_load_optim", true}},
         ""},
        {"megatron-lm",
         false,
         {{"tensor_model_parallel_size", 2}, {"use_distributed_optimizer", true}},
         ""},
        {"megatron-lm",
         true,
         {{"ckpt_format", "torch"}},
         "CKD201 the checkpoint is torch_dist; with ckpt_format torch it is loaded only under "
         "--auto-detect-ckpt-format"},
        {"megatron-lm",
         true,
         {{"ckpt_step", 9}},
         "CKD206 iteration 9 is not among those saved, the newest is 7"},
        {"megatron-lm",
         true,
         {{"dist_ckpt_strictness", "log_all"}},
         "CKD205 with log_all tensors that the checkpoint lacks keep their random values"},
        {"megatron-bridge", true, {{"checkpoint.ckpt_format", "torch_dist"}}, ""},
        {"megatron-bridge",
         true,
         {{"checkpoint.ckpt_format", "fsdp_dtensor"}},
         "CKD201 the checkpoint is torch_dist, checkpoint.ckpt_format is fsdp_dtensor: the loader "
         "asserts that they agree"},
        {"verl",
         true,
         {{"actor_rollout_ref.actor.strategy", "fsdp2"}},
         "CKD201 the checkpoint is Megatron's, the strategy is fsdp2"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.expected);
      Facts facts;
      facts.framework = row.framework;
      facts.closed = row.closed;
      for (const auto& [key, value] : row.set) {
        facts.facts.push_back({key, value, {}, {}, Origin::set, ""});
      }
      std::vector<std::string> got;
      for (const Diagnostic& d : ResumePoint(folder.path).check(merge({facts}))) {
        got.push_back(d.code + " " + d.message);
      }
      CHECK(join(got, "; ") == row.expected);
    }
    // What each format records of the model: run_config.yaml, arguments, shapes alone.
    struct Shape {
      const char *fixture, *framework;
      Set set;
      std::string expected;
    };
    const Shape shapes[] = {
        {"good-bridge-pretrain",
         "megatron-bridge",
         {{"model.num_layers", 2}, {"model.ffn_hidden_size", 24}, {"model.num_query_groups", 2}},
         ""},
        {"good-bridge-pretrain",
         "megatron-bridge",
         {{"model.num_layers", 4}},
         "CKD204 model.num_layers is 4, the checkpoint was saved with 2 (run_config.yaml)"},
        {"good-bridge-pretrain",
         "megatron-bridge",
         {{"model.num_query_groups", 4}, {"model.hidden_size", 16}},
         "CKD204 model.num_query_groups is 4, the checkpoint was saved with 2 (run_config.yaml)"},
        {"good-bridge-pretrain",
         "megatron-bridge",
         {{"model.num_layers", 4}, {"checkpoint.finetune", true}},
         ""},
        {"good-bridge-pretrain", "megatron-bridge", {{"model.moe_ffn_hidden_size", 99}}, ""},
        // Bridge loads what Megatron-LM saved.
        {"good-megatron-common-pt",
         "megatron-bridge",
         {{"model.num_layers", 2}, {"model.hidden_size", 32}},
         "CKD204 model.hidden_size is 32, the checkpoint was saved with 16 (its arguments)"},
        {"good-megatron-common-pt",
         "megatron-lm",
         {{"ffn_hidden_size", 32}, {"finetune", false}, {"use_checkpoint_args", false}},
         "CKD204 ffn_hidden_size is 32, the checkpoint was saved with 24 (its arguments)"},
        {"good-megatron-common-pt",
         "megatron-lm",
         {{"num_query_groups", 8}, {"finetune", false}, {"use_checkpoint_args", false}},
         ""},
        {"good-megatron-common-pt",
         "megatron-lm",
         {{"ffn_hidden_size", 32}, {"finetune", false}, {"use_checkpoint_args", true}},
         ""},
        {"good-megatron-fsdp-optimizer",
         "megatron-bridge",
         {{"model.num_layers", 2}, {"model.num_attention_heads", 4}},
         "CKD204 model.num_layers is 2, the checkpoint was saved with 1 (its arguments)"},
        {"good-megatron-torch-tp2",
         "megatron-lm",
         {{"num_attention_heads", 8}, {"finetune", false}},
         "CKD204 num_attention_heads is 8, the checkpoint was saved with 4 (its arguments)"},
    };
    for (const Shape& row : shapes) {
      CAPTURE(row.fixture);
      CAPTURE(row.expected);
      Facts facts;
      facts.framework = row.framework;
      for (const auto& [key, value] : row.set) {
        facts.facts.push_back({key, value, {}, {}, Origin::set, ""});
      }
      std::vector<std::string> got;
      for (const Diagnostic& d :
           ResumePoint(source_root() + "/fixtures/checkpoint/" + row.fixture + "/ckpt")
               .check(merge({facts}))) {
        got.push_back(d.code + " " + d.message);
      }
      CHECK(join(got, "; ") == row.expected);
    }
    // Nobody recorded anything: stacked layers and the last norm still say it.
    const Folder bare;
    WritePlan tensors;
    tensors.ranks = 1;
    tensors.tensors = {{"decoder.layers.mlp.linear_fc2.weight", DType::float32, {3, 4, 6}, {}},
                       {"decoder.final_layernorm.weight", DType::float32, {4}, {}}};
    tensors.shards = {{0, 0, {0, 0, 0}, {3, 4, 6}}, {1, 0, {0}, {4}}};
    tensors.save_id = "00000000-0000-4000-8000-000000000000";
    write(bare.path + "/iter_0000007", tensors);
    std::ofstream(bare.path + "/iter_0000007/metadata.json")
        << R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})";
    std::ofstream(bare.path + "/latest_checkpointed_iteration.txt") << "7";
    Facts bridge;
    bridge.framework = "megatron-bridge";
    bridge.facts = {{"model.num_layers", 2, {}, {}, Origin::set, ""},
                    {"model.hidden_size", 8, {}, {}, Origin::set, ""},
                    {"model.ffn_hidden_size", 6, {}, {}, Origin::set, ""}};
    std::vector<std::string> shown;
    for (const Diagnostic& d : ResumePoint(bare.path).check(merge({bridge}))) {
      shown.push_back(d.message);
    }
    CHECK(join(shown, "; ") ==
          "model.hidden_size is 8, the checkpoint was saved with 4 "
          "(decoder.final_layernorm.weight (4)); model.num_layers is 2, the checkpoint was saved "
          "with 3 (decoder.layers.mlp.linear_fc2.weight (3, 4, 6))");

    Facts verl;
    verl.framework = "verl";
    verl.facts = {{"trainer.nnodes", 1, {}, {}, Origin::set, ""},
                  {"trainer.n_gpus_per_node", 8, {}, {}, Origin::set, ""}};
    const std::vector<Diagnostic> ranks =
        ResumePoint(source_root() + "/fixtures/checkpoint/good-verl-fsdp/ckpt")
            .check(merge({verl}));
    REQUIRE(ranks.size() == 1);
    CHECK(ranks[0].message == "the job has 8 ranks, the checkpoint has one file for each of 2");
  }

  TEST_CASE("docs/checkpoint-format.md lists every fault") {
    const std::optional<std::string> page =
        RealDisk().read(source_root() + "/docs/checkpoint-format.md");
    REQUIRE(page);
    std::set<std::string> codes, names;
    for (const FaultInfo& fault : all_faults()) {
      CAPTURE(fault.name);
      CHECK(codes.insert(std::string(fault.code)).second);
      CHECK(names.insert(std::string(fault.name)).second);
      CHECK(page->find("| " + std::string(fault.code) + " | " + std::string(fault.name) + " |") !=
            std::string::npos);
    }
  }
}
