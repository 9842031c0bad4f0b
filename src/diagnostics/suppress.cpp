#include "diagnostics/suppress.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/files.h"
#include "base/strings.h"
#include "diagnostics/comments.h"

namespace shardlint {
namespace {

constexpr std::string_view marker = "shardlint:";
constexpr std::uint32_t to_the_end = 0xFFFFFFFF;

struct Rule {
  std::string written;
  Span where;
  std::string code;  // empty: unknown
  bool used = false;
};

struct Directive {
  std::string verb, reason;
  Span where;            // from `#` to the end of the comment
  std::size_t line = 0;  // index
  bool own_line = false;
  std::vector<Rule> rules;
  std::uint32_t first = 1, last = 0;  // lines that are covered, from 1
  std::string fault;
};

std::string_view kind_of(const Directive& d) {
  return d.verb == "ignore" ? "inline" : d.verb == "file-ignore" ? "file" : "range";
}

class Reader {
 public:
  Reader(const Source& source, const LexedLine& line) : source_(source) {
    at_ = line.comment;
    end_ = line.end;
    while (end_ > at_ && is_blank(source.text()[end_ - 1])) {
      --end_;
    }
  }

  // The last `# shardlint:` of the comment; nothing when it has none.
  std::optional<Directive> read() {
    const std::string_view comment = source_.text(at_, end_);
    const std::size_t word = comment.find(marker);
    const std::size_t hash = word == std::string_view::npos ? word : comment.rfind('#', word);
    if (hash == std::string_view::npos ||
        !trim(comment.substr(hash + 1, word - hash - 1)).empty()) {
      return {};
    }
    Directive out;
    out.where = {&source_, static_cast<std::uint32_t>(at_ + hash), end_};
    at_ += static_cast<std::uint32_t>(word + marker.size());
    out.fault = parse(out);
    return out;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  char peek() const { return at_ < end_ ? source_.text()[at_] : '\0'; }
  void skip_blank() {
    while (is_blank(peek())) {
      ++at_;
    }
  }
  std::string word() {
    std::string out;
    while (peek() == '-' || (peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z') ||
           (peek() >= '0' && peek() <= '9') || peek() == '_') {
      out += peek();
      ++at_;
    }
    return out;
  }

  std::string parse(Directive& out) {
    static constexpr std::array<std::string_view, 4> verbs = {"ignore", "disable", "enable",
                                                              "file-ignore"};
    skip_blank();
    out.verb = word();
    if (std::find(verbs.begin(), verbs.end(), out.verb) == verbs.end()) {
      const std::string_view near = nearest(out.verb, verbs);
      return near.empty() ? "expected ignore[...], disable[...], enable[...] or file-ignore[...]"
                          : fmt::format("there is no `{}`; did you mean `{}`?", out.verb, near);
    }
    skip_blank();
    if (peek() != '[') {
      return fmt::format("`{}` names its rules: `{}[CODE, ...]`", out.verb, out.verb);
    }
    do {
      ++at_;
      skip_blank();
      const std::uint32_t begin = at_;
      Rule rule;
      rule.written = word();
      rule.where = {&source_, begin, at_};
      if (rule.written.empty()) {
        return "a rule's code or name is missing";
      }
      out.rules.push_back(std::move(rule));
      skip_blank();
    } while (peek() == ',');
    if (peek() != ']') {
      return "expected `,` or `]` after a rule";
    }
    ++at_;
    skip_blank();
    if (source_.text(at_, end_).starts_with("--")) {
      out.reason = trim(source_.text(at_ + 2, end_));
    }
    return "";
  }

  const Source& source_;
  std::uint32_t at_, end_;
};

std::vector<Directive> read_directives(const Source& source, const std::vector<LexedLine>& lines,
                                       CommentSyntax syntax) {
  std::vector<Directive> out;
  bool content_seen = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LexedLine& line = lines[i];
    content_seen = content_seen || line.content;
    if (line.comment == line.end) {
      continue;
    }
    std::optional<Directive> found = Reader(source, line).read();
    if (!found) {
      continue;
    }
    Directive& d = *found;
    d.line = i;
    d.own_line = !line.content;
    const auto number = static_cast<std::uint32_t>(i + 1);
    if (!d.fault.empty()) {
      // said below
    } else if (d.verb == "file-ignore") {
      d.first = 1, d.last = to_the_end;
      d.fault = content_seen ? "`file-ignore` belongs above the first line of content" : "";
    } else if (d.verb != "ignore") {
      d.first = number, d.last = to_the_end;  // closed by `enable`
    } else if (!d.own_line) {
      d.first = d.last = number;
    } else {
      std::size_t next = i + 1;
      while (next < lines.size() && !lines[next].content) {
        ++next;
      }
      if (next < lines.size()) {
        d.first = static_cast<std::uint32_t>(next + 1);
        d.last = static_cast<std::uint32_t>(node_end(lines, next, syntax) + 1);
      }
    }
    out.push_back(std::move(d));
  }
  return out;
}

class Pass {
 public:
  Pass(const Source& source, const SuppressPolicy& policy, std::vector<Directive> directives)
      : source_(source), policy_(policy), directives_(std::move(directives)) {
    for (Directive& d : directives_) {
      for (Rule& rule : d.rules) {
        rule.code = policy_.code_of(rule.written).value_or("");
      }
    }
  }

  // The directive and rule that cover a finding, marked as used; the first one wins, all are used.
  const Directive* cover(const Diagnostic& finding) {
    const Directive* by = nullptr;
    for (Directive& d : directives_) {
      if (!d.fault.empty() || d.verb == "enable") {
        continue;
      }
      for (Rule& rule : d.rules) {
        if (rule.code != finding.code || policy_.forbidden(rule.code) ||
            finding.where.begin.line < d.first || finding.where.begin.line > last_line(d, rule)) {
          continue;
        }
        rule.used = true;
        by = by ? by : &d;
      }
    }
    return by;
  }

  std::vector<Diagnostic> complain() {
    for (const Directive& d : directives_) {
      if (!d.fault.empty()) {
        add("SUP104", "suppression-not-understood", Severity::warning, d.where,
            "this suppression does nothing: " + d.fault);
        continue;
      }
      for (const Rule& rule : d.rules) {
        complain(d, rule);
      }
      if (policy_.require_reason && d.reason.empty() && d.verb != "enable") {
        add("SUP102", "suppression-without-reason", Severity::warning, d.where,
            "this suppression gives no reason; write it after `--`");
      }
    }
    return std::move(out_);
  }

 private:
  std::uint32_t last_line(const Directive& d, const Rule& rule) const {
    if (d.verb != "disable") {
      return d.last;
    }
    for (const Directive& other : directives_) {
      if (other.verb == "enable" && other.fault.empty() && other.line >= d.line &&
          std::any_of(other.rules.begin(), other.rules.end(),
                      [&](const Rule& r) { return r.code == rule.code; })) {
        return static_cast<std::uint32_t>(other.line + 1);
      }
    }
    return d.last;
  }

  void complain(const Directive& d, const Rule& rule) {
    if (rule.code.empty()) {
      const std::string_view near = nearest(rule.written, policy_.known);
      add("SUP101", "suppression-of-unknown-rule", Severity::warning, rule.where,
          fmt::format("there is no rule `{}`{}", rule.written,
                      near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
      if (!near.empty()) {
        out_.back().fixes.push_back({fmt::format("write `{}`", near),
                                     Safety::unsafe,
                                     {{locate(rule.where), std::string(near)}}});
      }
    } else if (policy_.forbidden(rule.code)) {
      add("SUP103", "suppression-not-allowed", Severity::error, rule.where,
          fmt::format("this project does not allow {} to be suppressed", rule.code));
    } else if (!rule.used && d.verb != "enable" && policy_.active(rule.code)) {
      add("SUP100", "unused-suppression", Severity::warning, rule.where,
          fmt::format("{} finds nothing that this comment would suppress", rule.code));
      out_.back().fixes.push_back(removal(d, rule));
    }
  }

  Fix removal(const Directive& d, const Rule& rule) const {
    const bool alone = std::all_of(d.rules.begin(), d.rules.end(), [&](const Rule& r) {
      return &r == &rule || (!r.used && !r.code.empty() && policy_.active(r.code));
    });
    if (!alone) {
      return {"remove the rule from the comment", Safety::safe, {{locate(list_item(d, rule)), ""}}};
    }
    Span span = d.where;
    const std::string_view text = source_.text();
    const std::uint32_t line = source_.line_of(span.begin);
    const auto is_blank = [&](std::uint32_t at) { return text[at] == ' ' || text[at] == '\t'; };
    std::uint32_t begin = span.begin;
    while (begin > source_.line_begin(line) && is_blank(begin - 1)) {
      --begin;
    }
    span.begin = begin;
    if (begin == source_.line_begin(line)) {
      span.end = source_.line_begin(line + 1);  // the whole line goes
    }
    return {"remove the comment", Safety::safe, {{locate(span), ""}}};
  }

  // The rule with the comma that separates it from a neighbour.
  Span list_item(const Directive& d, const Rule& rule) const {
    const auto index = static_cast<std::size_t>(&rule - d.rules.data());
    return index + 1 < d.rules.size()
               ? Span{&source_, rule.where.begin, d.rules[index + 1].where.begin}
               : Span{&source_, d.rules[index - 1].where.end, rule.where.end};
  }

  void add(const char* code, const char* name, Severity severity, Span where, std::string message) {
    Diagnostic d;
    d.code = code;
    d.name = name;
    d.severity = severity;
    d.message = std::move(message);
    d.where = locate(where);
    out_.push_back(std::move(d));
  }

  const Source& source_;
  const SuppressPolicy& policy_;
  std::vector<Directive> directives_;
  std::vector<Diagnostic> out_;
};

}  // namespace

std::optional<CommentSyntax> comment_syntax(std::string_view path) {
  const std::string name = lower(file_name(path));
  const auto ends = [&](std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return name.ends_with(ending); });
  };
  if (ends({".yaml", ".yml"})) {
    return CommentSyntax::yaml;
  }
  if (ends({".sh", ".bash", ".slurm", ".sbatch", ".sub"})) {
    return CommentSyntax::shell;
  }
  if (ends({".py"})) {
    return CommentSyntax::python;
  }
  return {};
}

void apply_suppressions(const Source& source, CommentSyntax syntax, const SuppressPolicy& policy,
                        std::vector<Diagnostic>& diagnostics, std::vector<Suppressed>& suppressed) {
  if (source.text().find(marker) == std::string_view::npos) {
    return;  // nearly every file
  }
  Pass pass(source, policy, read_directives(source, lex_lines(source.text(), syntax), syntax));
  std::vector<Diagnostic> left;
  for (Diagnostic& d : diagnostics) {
    const Directive* by = d.where.file == source.name() ? pass.cover(d) : nullptr;
    if (by) {
      std::string kind(kind_of(*by)), reason = by->reason;
      suppressed.push_back({std::move(d), std::move(kind), std::move(reason)});
    } else {
      left.push_back(std::move(d));
    }
  }
  for (Diagnostic& d : pass.complain()) {
    left.push_back(std::move(d));
  }
  diagnostics = std::move(left);
}

}  // namespace shardlint
