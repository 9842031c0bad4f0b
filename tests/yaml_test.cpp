// The YAML reader: places, guards, aliases, merges.

#include <string>

#include <doctest/doctest.h>

#include "base/strings.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/scalar.h"

using namespace shardlint;

namespace {

// A tree in one line: scalars as kind-letter<written>, implicit nulls as ~@offset.
std::string show(const yaml::Node& node) {
  using Kind = yaml::Node::Kind;
  std::string out;
  if (node.properties.begin < node.properties.end) {
    out += "(" + std::string(node.properties.text()) + ")";
  }
  switch (node.kind) {
    case Kind::null:
      return out + (node.implicit ? "~@" + std::to_string(node.span.begin)
                                  : "null<" + std::string(node.span.text()) + ">");
    case Kind::scalar:
      return out + "<" + std::string(node.span.text()) + ">";
    case Kind::alias:
      return out + "*<" + std::string(node.span.text()) + ">";
    case Kind::sequence: {
      std::string inner;
      for (const yaml::Node* item : node.children) {
        inner += (inner.empty() ? "" : " ") + show(*item);
      }
      return out + "[" + inner + "]@" + std::to_string(node.span.begin) + "-" +
             std::to_string(node.span.end);
    }
    case Kind::mapping: {
      std::string inner;
      for (const yaml::Pair& pair : node.pairs) {
        inner += (inner.empty() ? "" : " ") + show(*pair.key) + "=" + show(*pair.value);
      }
      return out + "{" + inner + "}@" + std::to_string(node.span.begin) + "-" +
             std::to_string(node.span.end);
    }
  }
  return out;
}

std::string show(const std::string& text) {
  const Source source("f.yaml", text);
  const yaml::Document document = yaml::read(source);
  std::string out;
  for (const Diagnostic& diagnostic : document.diagnostics) {
    out += diagnostic.code + "@" + std::to_string(diagnostic.where.begin.offset) + " ";
  }
  for (const yaml::Node* root : document.roots) {
    out += show(*root) + " ";
  }
  return std::string(trim(out));
}

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

struct Row {
  std::string text, expected;
};

}  // namespace

TEST_SUITE("yaml") {
  TEST_CASE("every node has its exact place") {
    const Row rows[] = {
        {"", ""},
        {"a: 1\n", "{<a>=<1>}@0-4"},
        {"a: 'x' # c\nb: \"y\\\"\"\n", "{<a>=<'x'> <b>=<\"y\\\"\">}@0-19"},
        {"- a\n- b c\n", "[<a> <b c>]@0-9"},
        {"a: [1, 2 ,3 , ] # x\n", "{<a>=[<1> <2> <3>]@3-15}@0-15"},
        {"a: {b: 1, c}\n", "{<a>={<b>=<1> <c>=~@11}@3-12}@0-12"},
        {"[a: b, {c: d}: e]", "[{<a>=<b>}@1-5 {{<c>=<d>}@7-13=<e>}@7-16]@0-17"},
        {"{null}", "{null<null>=~@5}@0-6"},
        {"a: multi\n  line\n\n  text\nb: 1\n", "{<a>=<multi\n  line\n\n  text> <b>=<1>}@0-28"},
        {"a: |\n  x\n  y\n\nb: 1\n", "{<a>=<|\n  x\n  y> <b>=<1>}@0-18"},
        {"a: >2-  # note\n   x\n  y\n", "{<a>=<>2-  # note\n   x\n  y>}@0-23"},
        {"a: |+\n  x\n\n", "{<a>=<|+\n  x>}@0-9"},
        {"a: |\nb: 1\n", "{<a>=<|> <b>=<1>}@0-9"},
        {"- - |\n    x\n  - y\n", "[[<|\n    x> <y>]@2-17]@0-17"},
        // Implicit nulls stand after their colon or dash, whatever follows.
        {"a:\nnull: 3\n", "{<a>=~@2 null<null>=<3>}@0-10"},
        {"a: ~\nb: null\nc: Null # x\n", "{<a>=null<~> <b>=null<null> <c>=null<Null>}@0-20"},
        {"-\n- a:\n- null\n", "[~@1 {<a>=~@6}@4-6 null<null>]@0-13"},
        {"? a\n:x: 1\n", "{<a>=~@3 <:x>=<1>}@0-9"},
        {"? a\n? b\n: c\n", "{<a>=~@3 <b>=<c>}@0-11"},
        // Tags and anchors are apart from the content.
        {"a: &x !!str 1\nb: *x\n*x : 2\n", "{<a>=(&x !!str)<1> <b>=*<*x> *<*x>=<2>}@0-26"},
        {"&m\n&k a: 1\n", "(&m){(&k)<a>=<1>}@3-10"},
        {"&k a: 1\n", "{(&k)<a>=<1>}@0-7"},
        {"a: &s\n  - 1\nb: !t {x: 1}\n", "{<a>=(&s)[<1>]@8-11 <b>=(!t){<x>=<1>}@18-24}@0-24"},
        {"a: !!str\nb: &e\nc: 1\n", "{<a>=(!!str)<> <b>=(&e)~@14 <c>=<1>}@0-19"},
        // Byte order mark, line breaks, several documents, UTF-8.
        {"\xEF\xBB\xBF"
         "a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 2\r\n",
         "{<a>=<1> <b>=<|\r\n  x\r\n  y> <c>=<2>}@3-29"},
        {"a: 1\rb: 2\r", "{<a>=<1> <b>=<2>}@0-9"},
        {"---\na: 1\n...\n---\n- b\n--- c\n", "{<a>=<1>}@4-8 [<b>]@17-20 <c>"},
        {"\xC3\xA9: \xE4\xB8\x96 # \xC3\xA9\nb: 1\n", "{<\xC3\xA9>=<\xE4\xB8\x96> <b>=<1>}@0-17"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CHECK(show(row.text) == row.expected);
    }
  }

  TEST_CASE("what cannot be read is a finding with a place") {
    using namespace std::string_literals;
    std::string bomb = "a0: &a0 [x, x]\n";
    for (int i = 1; i < 30; ++i) {
      const std::string below = "*a" + std::to_string(i - 1);
      bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below + ", " + below +
              "]\n";
    }
    std::string merges = "a0: &a0 {x: 1}\n";
    for (int i = 1; i < 30; ++i) {
      const std::string below = "*a" + std::to_string(i - 1);
      merges += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {<<: [" + below + ", " +
                below + "]}\n";
    }
    const Row rows[] = {
        {",", "YML112@0"},
        {"!!str,", "YML112@5"},
        {"[a]\n&x ,", "YML112@7"},
        {"[a,,b]", "YML112@3"},
        {"a: 1\n,\n", "YML112@5"},
        {"a: b: c\n", "YML100@4"},
        {"a:\n\tb: 1\n", "YML106@3"},
        {"a:\n  b: 1\n\tc: 2\n", "YML106@10"},
        {"a: 1\nb: 'x\n", "YML110@8"},
        {"a: \"it's\nb: 1\n", "YML110@3"},
        {"- 'x\n", "YML110@2"},
        {"a: [1, 2\nb: 3\n", "YML100@10"},
        {"a: [1, 2\n", "YML115@3"},
        {"a: 1\nfoo\n", "YML100@5"},
        {"a:\n  b: 1\n  foo bar\n  c: 1\n", "YML100@12"},
        {": v\n", "YML100@0"},
        {"{: v}\n", "YML100@1"},
        {"%foo bar\n---\na: 1\n", "YML100@0"},
        {"%YAML 1.1\na: 1\n", "YML100@0"},
        {"a: *nope\n", "YML111@3"},
        {"- &a: 1\n", "YML118@4"},
        {"- &a.b 1\n", "YML118@4"},
        {"a: &x [1, *x]\n", "YML108@10"},
        {"a: {<<: 3}\n", "YML114@8"},
        {"\xFF\xFE"
         "a\0"s,
         "YML102@0"},
        {"a\0:\0"s, "YML102@0"},
        {"a: \xFF\n", "YML103@3"},
        {"a: \xC0\xAF\n", "YML103@3"},
        {"a: b\0c\n"s, "YML104@4"},
        {"a: \x04\n", "YML104@3"},
        {"a: 1 # \xE2\x80\xA8\n", "YML116@7"},
        {"a: 1\n\xEF\xBB\xBF"
         "b: 2\n",
         "YML105@5"},
        {"a: 1\n--- [b]\n}\n", "YML100@13"},
        {"'a'\nb: 1\n", "YML100@4"},
        {repeat("[", 1000), "YML107@45"},
        {repeat("[", 400) + repeat("]", 400), "YML107@90"},
        {repeat("- ", 100'000), "YML107@180"},
        {repeat("{a: ", 1000), "YML107@356"},
        {bomb, "YML109"},
        {merges, "YML109"},
        {repeat("- x\n", 300'000), "YML113"},
        {repeat("[", 600'000), "YML113@0"},
        {std::string((4u << 20) + 1, ' '), "YML101@0"},
    };
    for (const Row& row : rows) {
      const std::string start = row.text.substr(0, 60);
      CAPTURE(start);
      CHECK(show(row.text).substr(0, row.expected.size()) == row.expected);
    }
  }

  TEST_CASE("comments: all of them and nothing else") {
    const Source source("f.yaml",
                        "# one\na: 'x # no' # two\nb: |  # three\n  # text\nc: a#b\n  # four\n"
                        "d: [1, # five\n  2]\n");
    const yaml::Document document = yaml::read(source);
    std::string all;
    for (const yaml::Comment& comment : document.comments) {
      all += std::string(comment.span.text()) + (comment.alone ? "! " : " ");
    }
    CHECK(all == "# one! # two # three # four! # five ");
  }

  TEST_CASE("aliases, merges, duplicate keys") {
    const Source source("f.yaml",
                        "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\n"
                        "one:\n  <<: *b\n  x: 9\n"
                        "two:\n  <<: [*b, *o]\n"
                        "alias: *b\n"
                        "twice: {k: 1, 'k': 2, 1: a, 0x1: b}\n");
    const yaml::Document document = yaml::read(source);
    REQUIRE(document.root());
    const yaml::Node& root = *document.root();
    CHECK(to_value(*root.find("one"), yaml::Mode::core12).text() == "{x: 9, y: 2}");
    CHECK(to_value(*root.find("two"), yaml::Mode::core12).text() == "{y: 2, z: 4, x: 1}");
    CHECK(root.find("alias")->find("x")->scalar() == "1");
    CHECK(root.find("alias")->span.text() == "*b");
    CHECK(root.find("alias")->real().span.text() == "{x: 1, y: 2}");
    CHECK(root.find("twice")->find("k")->scalar() == "2");
    CHECK(root.find("twice")->pairs.size() == 4);
    REQUIRE(document.duplicates.size() == 2);
    CHECK(document.duplicates[0].first.value->scalar() == "1");
    CHECK(document.duplicates[0].again.key->span.text() == "'k'");
    CHECK(document.duplicates[1].again.key->span.text() == "0x1");
    CHECK(root.find("none") == nullptr);
    CHECK(root.find("base")->find("x")->find("deeper") == nullptr);
  }

  TEST_CASE("scalars as each reader takes them") {
    struct Scalar {
      std::string text, omegaconf, pyyaml, core;
    };
    // s: string, otherwise the value's own text with its type's letter.
    const Scalar rows[] = {
        {"1e-4", "f0.0001", "s1e-4", "f0.0001"},
        {"1.0e-4", "f0.0001", "f0.0001", "f0.0001"},
        {"1.0e4", "f10000", "s1.0e4", "f10000"},
        {"1E5", "f100000", "s1E5", "f100000"},
        {"1_0e1", "f100", "s1_0e1", "s1_0e1"},
        {"1_e1", "s1_e1", "s1_e1", "s1_e1"},
        {"1e+5", "f100000", "s1e+5", "f100000"},
        {".5", "f0.5", "f0.5", "f0.5"},
        {"-.5", "s-.5", "s-.5", "f-0.5"},
        {"5.", "f5", "f5", "f5"},
        {"y", "sy", "sy", "sy"},
        {"n", "sn", "sn", "sn"},
        {"yes", "btrue", "btrue", "syes"},
        {"on", "btrue", "btrue", "son"},
        {"Off", "bfalse", "bfalse", "sOff"},
        {"True", "btrue", "btrue", "btrue"},
        {"tRue", "stRue", "stRue", "stRue"},
        {"1_000", "i1000", "i1000", "s1_000"},
        {"0x1F", "i31", "i31", "i31"},
        {"-0x1F", "i-31", "i-31", "s-0x1F"},
        {"0o17", "s0o17", "s0o17", "i15"},
        {"017", "i15", "i15", "i17"},
        {"08", "s08", "s08", "i8"},
        {"0b101", "i5", "i5", "s0b101"},
        {"12:30:45", "i45045", "i45045", "s12:30:45"},
        {"1:60", "s1:60", "s1:60", "s1:60"},
        {"+12", "i12", "i12", "i12"},
        {".inf", "finf", "finf", "finf"},
        {"-.INF", "f-inf", "f-inf", "f-inf"},
        {".NaN", "fnan", "fnan", "fnan"},
        {"nan", "snan", "snan", "snan"},
        {"~", "n", "n", "n"},
        {"null", "n", "n", "n"},
        {"None", "sNone", "sNone", "sNone"},
        {"", "n", "n", "n"},
        {"2024-01-02", "s2024-01-02", "s2024-01-02", "s2024-01-02"},
        {"9223372036854775808", "f9.22337e+18", "f9.22337e+18", "f9.22337e+18"},
        {"1.2.3", "s1.2.3", "s1.2.3", "s1.2.3"},
        {"-", "s-", "s-", "s-"},
    };
    const auto tell = [](const Value& value) -> std::string {
      if (value.is_null()) {
        return "n";
      }
      if (value.if_double()) {
        char text[32];
        std::snprintf(text, sizeof text, "f%g", *value.if_double());
        return text;
      }
      return (value.if_bool() ? "b" : value.if_integer() ? "i" : "s") + value.text();
    };
    for (const Scalar& row : rows) {
      CAPTURE(row.text);
      const auto plain = yaml::Node::Style::plain;
      CHECK(tell(resolve_scalar(row.text, plain, "", yaml::Mode::omegaconf)) == row.omegaconf);
      CHECK(tell(resolve_scalar(row.text, plain, "", yaml::Mode::pyyaml11)) == row.pyyaml);
      CHECK(tell(resolve_scalar(row.text, plain, "", yaml::Mode::core12)) == row.core);
    }
    const auto quoted = yaml::Node::Style::double_quoted;
    CHECK(tell(resolve_scalar("1", quoted, "", yaml::Mode::pyyaml11)) == "s1");
    const auto plain = yaml::Node::Style::plain;
    CHECK(tell(resolve_scalar("1", plain, "tag:yaml.org,2002:str", yaml::Mode::core12)) == "s1");
    CHECK(tell(resolve_scalar("1", plain, "tag:yaml.org,2002:float", yaml::Mode::core12)) == "f1");
    CHECK(resolve_scalar("x", plain, "tag:yaml.org,2002:int", yaml::Mode::core12).is_unknown());
    CHECK(resolve_scalar("x", plain, "!mine", yaml::Mode::core12).is_unknown());
  }
}
