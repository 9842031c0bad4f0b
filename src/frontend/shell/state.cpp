#include "frontend/shell/state.h"

#include <algorithm>

namespace shardlint::shell {
namespace {

bool same(const Char& a, const Char& b) {
  return a.c == b.c && a.flags == b.flags && a.source == b.source && a.offset == b.offset &&
         a.note == b.note;
}

bool same(const Text& a, const Text& b) {
  return a.size() == b.size() &&
         std::equal(a.chars.begin(), a.chars.end(), b.chars.begin(),
                    [](const Char& x, const Char& y) { return same(x, y); });
}

bool same(const Field& a, const Field& b) {
  return a.conditional == b.conditional && a.open == b.open && same(a.text, b.text);
}

// Characters equal in text and certainty, wherever they were written.
bool reads_alike(const Text& a, const Text& b) {
  return a.known() && b.known() && a.plain() == b.plain();
}

class Merger {
 public:
  Merger(const Span& condition, Notes& notes) : condition_(condition), notes_(notes) {}

  Text text(const Text& a, const Text& b) {
    if (same(a, b) || reads_alike(a, b)) {
      return a;
    }
    std::size_t common = 0;
    while (common < std::min(a.size(), b.size()) && same(a.chars[common], b.chars[common])) {
      ++common;
    }
    // One is the other with something added: the addition is conditional. The alternatives of
    // if/else that both add to a string of flags become one after the other, both conditional.
    const bool extends = common == a.size() || common == b.size();
    const bool both = (common > 0 && a.chars[common - 1].c == ' ') ||
                      (common < a.size() && common < b.size() && a.chars[common].c == ' ' &&
                       b.chars[common].c == ' ');
    if (extends || both) {
      Text out = a.slice(0, common);
      out.env_default = a.env_default || b.env_default;
      add(out, a.slice(common, a.size()));
      if (!extends) {
        Text blank;
        blank.chars.push_back(Char{' ', Char::nowhere, 0, 0, 0});
        add(out, blank);
      }
      add(out, b.slice(common, b.size()));
      return out;
    }
    return unknown(a, b);
  }

  std::vector<Field> fields(const std::vector<Field>& a, const std::vector<Field>& b) {
    std::size_t head = 0;
    while (head < std::min(a.size(), b.size()) && same(a[head], b[head])) {
      ++head;
    }
    std::size_t tail = 0;
    while (tail < std::min(a.size(), b.size()) - head &&
           same(a[a.size() - 1 - tail], b[b.size() - 1 - tail])) {
      ++tail;
    }
    std::vector<Field> out(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(head));
    for (const auto* side : {&a, &b}) {
      for (std::size_t i = head; i + tail < side->size(); ++i) {
        out.push_back((*side)[i]);
        if (!out.back().conditional) {
          out.back().conditional = true;
          out.back().condition = condition_;
        }
      }
    }
    out.insert(out.end(), a.end() - static_cast<std::ptrdiff_t>(tail), a.end());
    return out;
  }

  VariablePtr variable(const VariablePtr& a, const VariablePtr& b) {
    if (a == b) {
      return a;
    }
    // Not mentioned before: the environment may hold it. A word that uses it cannot be known.
    auto out = std::make_shared<Variable>(a ? *a : *b);
    const bool a_set = a && !a->unset, b_set = b && !b->unset;
    out->exported = (a && a->exported) || (b && b->exported);
    if (!a_set && !b_set) {
      return a ? a : b;
    }
    if (a_set && b_set && a->kind == b->kind && a->kind == Variable::Kind::scalar) {
      Field field = a->values.empty() ? Field{} : a->values.front();
      field.text = text(a->scalar(), b->scalar());
      out->values = {field};
      return out;
    }
    const Variable::Kind kind = (a_set ? a : b)->kind;
    if (kind == Variable::Kind::array && (!a_set || !b_set || a->kind == b->kind)) {
      out->values = fields(a_set ? a->values : std::vector<Field>{},
                           b_set ? b->values : std::vector<Field>{});
      out->unset = false;
      out->kind = kind;
      return out;
    }
    out->unset = false;
    out->kind = Variable::Kind::scalar;
    Field field;
    const Text only = a_set ? a->scalar() : b->scalar();
    field.text = a_set && b_set ? unknown(a->scalar(), b->scalar()) : unknown(only, only);
    field.written = condition_;
    out->set_at = a_set ? a->set_at : b->set_at;
    out->values = {field};
    return out;
  }

 private:
  void add(Text& out, const Text& more) {
    for (Char c : more.chars) {
      c.flags |= Char::conditional;
      if (c.note == 0) {
        c.note = condition_note();
      }
      out.chars.push_back(c);
    }
  }

  std::uint32_t condition_note() {
    if (note_ == 0) {
      notes_.notes.push_back({condition_, nullptr, {}});
      note_ = static_cast<std::uint32_t>(notes_.notes.size() - 1);
    }
    return note_;
  }

  Text unknown(const Text& a, const Text& b) {
    const Span place = notes_.hull(a) ? notes_.hull(a) : condition_;
    Text out = notes_.unknown(Reason::branch, "one of two values, by a condition", place);
    if (a.known() && b.known()) {
      Unknown why = *notes_.notes.back().unknown;
      why.domain = {Value(a.plain()), Value(b.plain())};
      why.detail = a.plain() == b.plain() ? a.plain() + " or not set"
                                          : a.plain() + " or " + b.plain() + ", by a condition";
      if (a.plain() == b.plain()) {
        why.domain.clear();
      }
      notes_.notes.back().unknown = std::make_shared<Unknown>(std::move(why));
    }
    return out;
  }

  Span condition_;
  Notes& notes_;
  std::uint32_t note_ = 0;
};

}  // namespace

const Text& Variable::scalar() const {
  static const Text none;
  return values.empty() ? none : values.front().text;
}

const Variable* State::find(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() || found->second->unset ? nullptr : found->second.get();
}

VariablePtr State::hold(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() || found->second->unset ? nullptr : found->second;
}

State merge(const State& left, const State& right, const Span& condition, Notes& notes) {
  Merger merger(condition, notes);
  State out = left;
  for (const auto& [name, value] : right.variables) {
    VariablePtr& mine = out.variables[name];
    mine = merger.variable(mine, value);
  }
  for (auto& [name, value] : out.variables) {
    if (!right.variables.contains(name)) {
      value = merger.variable(value, nullptr);
    }
  }
  out.positional = merger.fields(left.positional, right.positional);
  out.positional_known = left.positional_known && right.positional_known;
  for (const auto& [name, body] : right.functions) {
    out.functions.emplace(name, body);
  }
  for (const auto& [name, text] : right.files) {
    out.files.emplace(name, text);
  }
  out.pipefail = left.pipefail || right.pipefail;
  if (left.directory != right.directory) {
    out.directory.clear();
  }
  return out;
}

}  // namespace shardlint::shell
