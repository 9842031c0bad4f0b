#include <doctest/doctest.h>

#include "base/edit_distance.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/version.h"

using namespace shardlint;

TEST_SUITE("base") {
  TEST_CASE("versions order as PEP 440 orders them") {
    const char* ascending[] = {"0.14",           "0.15.0.dev3", "0.15.0a1", "0.15.0rc0",
                               "0.15.0rc1.dev1", "0.15.0rc1",   "0.15",     "0.15.1",
                               "0.15.1.post1",   "0.16.0",      "0.100",    "1!0.1"};
    for (std::size_t i = 0; i + 1 < std::size(ascending); ++i) {
      CAPTURE(ascending[i]);
      CHECK(*Version::parse(ascending[i]) < *Version::parse(ascending[i + 1]));
    }
    CHECK(*Version::parse("v1.0") == *Version::parse("1.0.0"));
    CHECK(*Version::parse("1.0-RC.1") == *Version::parse("1.0rc1"));
    for (const char* bad : {"", "abc", "1.x", "1..2", "1.0foo"}) {
      CAPTURE(bad);
      CHECK_FALSE(Version::parse(bad));
    }
  }
  TEST_CASE("version ranges") {
    struct Row {
      const char *range, *version;
      bool inside;
    };
    for (const Row& row : {Row{">=0.15,<0.18", "0.15", true},
                           {">=0.15,<0.18", "0.18", false},
                           {">=0.15.0rc0", "0.15.0", true},
                           {"<0.15.0", "0.15.0rc1", true},
                           {"", "3", true},
                           {"!=0.6", "0.6.0", false},
                           {"==0.6", "0.6.0", true}}) {
      CAPTURE(row.range);
      CHECK(VersionRange::parse(row.range)->contains(*Version::parse(row.version)) == row.inside);
    }
    CHECK_FALSE(VersionRange::parse("0.15"));
  }
  TEST_CASE("did you mean") {
    const std::string_view keys[] = {"ckpt_format", "use_megatron_fsdp", "save", "load"};
    CHECK(nearest("ckpt_fromat", keys) == "ckpt_format");
    CHECK(nearest("use_megatron_fdsp", keys) == "use_megatron_fsdp");
    CHECK(nearest("something_else", keys) == "");
    CHECK(edit_distance("abcd", "abdc", 3) == 1);
  }
  TEST_CASE("utf-8 is checked byte by byte") {
    CHECK_FALSE(invalid_utf8("h\xC3\xA9llo \xF0\x9F\x98\x80"));
    CHECK(invalid_utf8("ab\xFF") == 2);
    CHECK(invalid_utf8("\xC0\x80") == 0);      // overlong
    CHECK(invalid_utf8("\xED\xA0\x80") == 0);  // surrogate
    CHECK(invalid_utf8("x\xE2\x82") == 1);     // cut short
  }
  TEST_CASE("paths") {
    CHECK(normal_path("a//b/../c/") == "a/c");
    CHECK(join_path("conf", "../x.yaml") == "x.yaml");
    CHECK(join_path("conf", "/x.yaml") == "/x.yaml");
    CHECK(parent_path("x.yaml") == ".");
  }
  TEST_CASE("whole-string numbers") {
    CHECK(to_integer("+12") == 12);
    CHECK_FALSE(to_integer("12x"));
    CHECK_FALSE(to_integer("+-1"));
    CHECK(to_double("1e-4") == 1e-4);
    CHECK_FALSE(to_double(""));
  }
  TEST_CASE("globs") {
    CHECK(glob_match("*.megatron.*", "actor.megatron.tp"));
    CHECK_FALSE(glob_match("a?c", "abbc"));
  }
}
