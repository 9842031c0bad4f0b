#include "discover/settings.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace shardlint;

namespace {

std::string fault(std::string text) {
  MemoryDisk disk;
  disk.write("/p/shardlint.toml", std::move(text));
  try {
    read_settings("/p/shardlint.toml", disk);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Diagnostic finding(std::string code, std::string file) {
  Diagnostic d;
  d.code = std::move(code);
  d.where.file = std::move(file);
  return d;
}

}  // namespace

TEST_SUITE("settings") {
  TEST_CASE("mistakes are told with their place") {
    const struct {
      std::string text, says;
    } rows[] = {
        {"worldsize = 8\n",
         "/p/shardlint.toml:1:1: there is no setting `worldsize`; did you mean `world-size`?"},
        {"\nworld-size = \"8\"\n",
         "/p/shardlint.toml:2:1: `world-size`: expected a number of ranks"},
        {"ignore = \"CKP104\"\n", "/p/shardlint.toml:1:1: `ignore`: expected a list of strings"},
        {"world = \"close\"\n",
         "/p/shardlint.toml:1:1: `world`: expected one of auto, open, closed, got `close`"},
        {"[severity]\nCKP104 = \"fatal\"\n",
         "/p/shardlint.toml:1:2: `severity`: expected one of error, warning, info, off, got "
         "`fatal`"},
        {"[[overrides]]\npath = [\"a\"]\n",
         "/p/shardlint.toml:1:3: `overrides`: there is no setting `path`; did you mean `paths`? of "
         "[[overrides]]"},
        {"[[overrides]]\ngpu = \"H100\"\n",
         "/p/shardlint.toml:1:3: `overrides`: [[overrides]] needs `paths`"},
        {"required-version = \">=99\"\n",
         "/p/shardlint.toml:1:1: `required-version`: this project wants shardlint >=99, this is "
         "0.1.0"},
        {"extend = \"shardlint.toml\"\n", "/p/shardlint.toml: `extend` goes round in circles"},
        {"extend = \"gone.toml\"\n", "cannot read the settings /p/gone.toml"},
    };
    for (const auto& row : rows) {
      CHECK(fault(row.text) == row.says);
    }
    CHECK(fault("a = [\n").find("/p/shardlint.toml:") == 0);
  }
  TEST_CASE("the closest file wins, nothing is merged, a foreign pyproject.toml is passed over") {
    MemoryDisk disk;
    disk.write("/p/pyproject.toml", "[tool.shardlint]\nworld-size = 1\n");
    disk.write("/p/a/.shardlint.toml", "gpu = \"H100\"\n");
    disk.write("/p/a/shardlint.toml", "world-size = 2\n");
    disk.write("/p/a/b/pyproject.toml", "[tool.ruff]\n# not shardlint\n");
    SettingsFinder finder(disk);
    CHECK(finder.find("/p/x.yaml")->file == "/p/pyproject.toml");
    CHECK(finder.find("/p/a/b/c/x.yaml")->file == "/p/a/.shardlint.toml");
    CHECK(!finder.find("/p/a/x.yaml")->job.world_size);
    CHECK(finder.find("/q/x.yaml")->file == "");
  }
  TEST_CASE("layers: extend, overrides by path, then the command line") {
    MemoryDisk disk;
    disk.write(
        "/p/base.toml",
        "world-size = 8\nignore = [\"A1\"]\n[targets]\nverl = \"0.5\"\nmegatron-lm = \"0.15\"\n");
    disk.write("/p/shardlint.toml",
               "extend = \"base.toml\"\nrules = [\"my\"]\n[targets]\nverl = \"0.6\"\n"
               "[env]\nA = 1\nB = true\n"
               "[[overrides]]\npaths = [\"big/**\"]\nworld-size = 64\nenv = {A = \"2\"}\n");
    const Settings s = read_settings("/p/shardlint.toml", disk);
    CHECK(s.origins.at("world-size") == "/p/base.toml:1");
    Options line;
    line.env = {"B=x"};
    const Options small = options_for(s, "/p/small/x.yaml", line);
    CHECK(small.world_size == 8);
    CHECK(small.targets == std::vector<std::string>{"verl==0.6"});
    CHECK(small.env == std::vector<std::string>{"A=1", "B=x"});
    CHECK(small.ignore == std::vector<std::string>{"A1"});
    CHECK(small.rule_folders == std::vector<std::string>{"/p/my"});
    const Options big = options_for(s, "/p/big/deep/x.yaml", line);
    CHECK(big.world_size == 64);
    CHECK(big.env == std::vector<std::string>{"A=2", "B=x"});
    line.world_size = 3;
    CHECK(options_for(s, "/p/big/x.yaml", line).world_size == 3);
  }
  TEST_CASE("a setting on the command line is TOML, or a plain string") {
    CHECK(with_setting({}, "world-size=4").job.world_size == 4);
    CHECK(with_setting({}, "gpu=H100").job.gpu == "H100");
    CHECK(with_setting({}, "ignore=[\"A\", \"B\"]").ignore.size() == 2);
    CHECK_THROWS_AS(with_setting({}, "gpo=H100"), Error);
  }
  TEST_CASE("globs are relative to the settings' folder") {
    Settings s;
    s.folder = "/p";
    const struct {
      std::string glob, path;
      bool covered;
    } rows[] = {{"*.yaml", "/p/a/b.yaml", true},   {"a", "/p/a/b.yaml", true},
                {"a/*.yaml", "/p/a/b.yaml", true}, {"b/*.yaml", "/p/a/b.yaml", false},
                {"a/", "/p/a/b.yaml", true},       {"./a/**", "/p/a/c/b.yaml", true},
                {"a/b", "/p/a/b/c.yaml", true},    {"x", "/p/a/b.yaml", false}};
    for (const auto& row : rows) {
      INFO(row.glob << " " << row.path);
      CHECK(covers(s, row.glob, row.path) == row.covered);
    }
  }
  TEST_CASE("severities and ignores by file") {
    MemoryDisk disk;
    disk.write("/p/shardlint.toml",
               "[severity]\nALL = \"info\"\nCKP = \"warning\"\nCKP104 = \"error\"\nPAR1 = \"off\"\n"
               "[per-file-ignores]\n\"old/*\" = [\"CKP\"]\n");
    const Settings s = read_settings("/p/shardlint.toml", disk);
    std::vector<Diagnostic> found = {finding("CKP104", "/p/a.yaml"), finding("CKP105", "/p/a.yaml"),
                                     finding("PAR1", "/p/a.yaml"), finding("XYZ1", "/p/a.yaml"),
                                     finding("CKP104", "/p/old/a.yaml")};
    apply_settings(s, found);
    REQUIRE(found.size() == 3);
    CHECK(found[0].severity == Severity::error);
    CHECK(found[1].severity == Severity::warning);
    CHECK(found[2].severity == Severity::info);
  }
}
