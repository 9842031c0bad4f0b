#include "checkpoint/pickle.h"

#include <bit>
#include <map>

#include "checkpoint/bytes.h"

namespace shardlint::checkpoint::pickle {
namespace {

class Machine {
 public:
  Machine(std::string_view input, const Limits& limits) : limits_(limits) { out_.input = input; }

  Pickle run() {
    for (std::uint64_t opcodes = 0;; ++opcodes) {
      if (opcodes > limits_.opcodes) {
        fail("more opcodes than any checkpoint has");
      }
      start_ = at_;
      if (step(number<std::uint8_t>())) {
        out_.end = at_;
        return std::move(out_);
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Fault(start_, what); }

  // -- input ---------------------------------------------------------------------------------
  template <typename T>
  T number() {
    return load_le<T>(take(sizeof(T)).data());
  }
  std::string_view take(std::uint64_t count) {
    if (count > out_.input.size() - at_) {
      fail("truncated: " + std::to_string(count) + " bytes wanted at " + std::to_string(at_) +
           " of " + std::to_string(out_.input.size()));
    }
    at_ += count;
    return out_.input.substr(at_ - count, count);
  }
  std::string_view line() {
    const std::size_t end = out_.input.find('\n', at_);
    if (end == std::string_view::npos) {
      fail("truncated: a name without its end");
    }
    const std::string_view text = out_.input.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  // -- stack and memo ------------------------------------------------------------------------
  void charge(std::uint64_t count) {
    used_ += count;
    if (used_ > limits_.values) {
      fail("more values than any checkpoint has");
    }
  }
  void push(Value value) {
    charge(1);
    stack_.push_back(value);
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Value pop() {
    if (stack_.size() <= floor()) {
      fail("stack is empty");
    }
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value& top() {
    if (stack_.size() <= floor()) {
      fail("stack is empty");
    }
    return stack_.back();
  }
  // The values above the last mark, which goes; they stay in the vector until drop().
  std::size_t pop_mark() {
    if (marks_.empty()) {
      fail("no mark on the stack");
    }
    const std::size_t from = marks_.back();
    marks_.pop_back();
    return from;
  }
  void remember(std::uint32_t index) {
    if (index >= out_.input.size()) {  // every entry takes more than a byte to make
      fail("memo index " + std::to_string(index) + " is out of order");
    }
    if (index >= memo_.size()) {
      charge(index + 1 - memo_.size());
      memo_.resize(index + 1);
    }
    memo_[index] = {true, top()};
  }
  void recall(std::uint32_t index) {
    if (index >= memo_.size() || !memo_[index].set) {
      fail("memo has no entry " + std::to_string(index));
    }
    push(memo_[index].value);
  }

  // -- making values -------------------------------------------------------------------------
  static Value value(Kind kind, std::uint64_t at = 0, std::uint32_t count = 0) {
    Value made;
    made.kind = kind;
    made.count = count;
    made.at = at;
    return made;
  }
  void push_integer(std::int64_t number) {
    Value made = value(Kind::integer);
    made.integer = number;
    push(made);
  }
  void push_boolean(bool flag) {
    Value made = value(Kind::boolean);
    made.at = 0;
    made.boolean = flag;
    push(made);
  }
  void push_string(Kind kind, std::uint64_t length) {
    if (length > UINT32_MAX) {
      fail("a string of " + std::to_string(length) + " bytes");
    }
    take(length);
    push(value(kind, at_ - length, static_cast<std::uint32_t>(length)));
  }
  void push_long(std::uint64_t length) {
    const std::string_view raw = take(length);
    if (length > 8) {
      push(value(Kind::big_integer, at_ - length, static_cast<std::uint32_t>(length)));
      return;
    }
    std::uint64_t bits = length != 0 && (raw.back() & 0x80) ? ~std::uint64_t{0} : 0;
    std::memcpy(&bits, raw.data(), length);
    push_integer(static_cast<std::int64_t>(bits));
  }
  void push_tuple(std::size_t from) {
    const Value made =
        value(Kind::tuple, out_.tuples.size(), static_cast<std::uint32_t>(stack_.size() - from));
    charge(made.count);
    out_.tuples.insert(out_.tuples.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from),
                       stack_.end());
    stack_.resize(from);
    push(made);
  }
  void push_small_tuple(std::size_t count) {
    if (stack_.size() < floor() + count) {
      fail("stack is empty");
    }
    push_tuple(stack_.size() - count);
  }
  void push_container(Kind kind) {
    out_.containers.emplace_back();
    push(value(kind, out_.containers.size() - 1));
  }
  void push_global(std::string_view module, std::string_view name) {
    const auto [found, fresh] = names_.try_emplace({module, name}, out_.globals.size());
    if (fresh) {
      out_.globals.push_back({module, name, start_});
    }
    push(value(Kind::global, found->second));
  }
  void push_object(Call call, const Value& callable, const Value& arguments) {
    Object made;
    made.call = call;
    made.callable = callable;
    made.arguments = arguments;
    out_.objects.push_back(std::move(made));
    push(value(Kind::object, out_.objects.size() - 1));
  }
  // Moves what lies above `from` into the container below it.
  void extend(std::size_t from, bool pairs) {
    if (from == floor()) {
      fail("nothing to add to");
    }
    const Value& target = stack_[from - 1];
    std::vector<Value>* into = nullptr;
    if (target.kind == Kind::object) {
      into = &out_.objects[target.at].items;
    } else if (target.kind == Kind::dict
                   ? pairs
                   : !pairs && (target.kind == Kind::list || target.kind == Kind::set)) {
      into = &out_.containers[target.at];
    } else {
      fail("items added to a value that holds none");
    }
    const std::size_t count = stack_.size() - from;
    if (pairs && count % 2 != 0) {
      fail("a key without a value");
    }
    charge(count);
    into->insert(into->end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
  }
  void extend_top(std::size_t count, bool pairs) {
    if (stack_.size() < floor() + count + 1) {
      fail("stack is empty");
    }
    extend(stack_.size() - count, pairs);
  }
  void build() {
    const Value state = pop();
    if (top().kind != Kind::object) {
      fail("state given to a value that is no object");
    }
    Object& target = out_.objects[top().at];
    target.state = state;
    target.has_state = true;
  }
  void call(Call kind) {
    const Value arguments = pop();
    const Value callable = pop();
    push_object(kind, callable, arguments);
  }

  // One opcode; true at STOP.
  bool step(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (number<std::uint8_t>() > 5) {
          fail("a protocol above 5");
        }
        break;
      case 0x95:  // FRAME: a hint for buffering; only its length can be wrong
        if (number<std::uint64_t>() > out_.input.size() - at_) {
          fail("truncated: a frame that ends outside the file");
        }
        break;
      case '.':
        if (stack_.size() != 1 || !marks_.empty()) {
          fail("stop with " + std::to_string(stack_.size()) + " values instead of one");
        }
        out_.root = stack_.back();
        return true;
      case '(':
        marks_.push_back(stack_.size());
        charge(1);
        break;
      case '0':
        pop();
        break;
      case '1':
        stack_.resize(pop_mark());
        break;
      case '2':
        push(Value(top()));
        break;
      case 'N':
        push({});
        break;
      case 0x88:
        push_boolean(true);
        break;
      case 0x89:
        push_boolean(false);
        break;
      case 'K':
        push_integer(number<std::uint8_t>());
        break;
      case 'M':
        push_integer(number<std::uint16_t>());
        break;
      case 'J':
        push_integer(number<std::int32_t>());
        break;
      case 0x8a:
        push_long(number<std::uint8_t>());
        break;
      case 0x8b:
        push_long(number<std::uint32_t>());
        break;
      case 'G': {
        Value made = value(Kind::real);
        made.real = std::bit_cast<double>(__builtin_bswap64(number<std::uint64_t>()));
        push(made);
        break;
      }
      case 0x8c:
        push_string(Kind::text, number<std::uint8_t>());
        break;
      case 'X':
        push_string(Kind::text, number<std::uint32_t>());
        break;
      case 0x8d:
        push_string(Kind::text, number<std::uint64_t>());
        break;
      case 'U':
      case 'C':
        push_string(Kind::bytes, number<std::uint8_t>());
        break;
      case 'T':
      case 'B':
        push_string(Kind::bytes, number<std::uint32_t>());
        break;
      case 0x8e:
      case 0x96:
        push_string(Kind::bytes, number<std::uint64_t>());
        break;
      case ')':
        push(value(Kind::tuple, out_.tuples.size()));
        break;
      case 't':
        push_tuple(pop_mark());
        break;
      case 0x85:
        push_small_tuple(1);
        break;
      case 0x86:
        push_small_tuple(2);
        break;
      case 0x87:
        push_small_tuple(3);
        break;
      case ']':
        push_container(Kind::list);
        break;
      case '}':
        push_container(Kind::dict);
        break;
      case 0x8f:
        push_container(Kind::set);
        break;
      case 0x91: {  // FROZENSET
        const std::size_t from = pop_mark();
        out_.containers.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(from),
                                     stack_.end());
        charge(stack_.size() - from);
        stack_.resize(from);
        push(value(Kind::set, out_.containers.size() - 1));
        break;
      }
      case 'a':
        extend_top(1, false);
        break;
      case 's':
        extend_top(2, true);
        break;
      case 'e':
      case 0x90:
        extend(pop_mark(), false);
        break;
      case 'u':
        extend(pop_mark(), true);
        break;
      case 'q':
        remember(number<std::uint8_t>());
        break;
      case 'r':
        remember(number<std::uint32_t>());
        break;
      case 0x94:
        remember(static_cast<std::uint32_t>(memo_.size()));
        break;
      case 'h':
        recall(number<std::uint8_t>());
        break;
      case 'j':
        recall(number<std::uint32_t>());
        break;
      case 'c': {
        const std::string_view module = line();
        push_global(module, line());
        break;
      }
      case 0x93: {  // STACK_GLOBAL
        const Value name = pop(), module = pop();
        if (name.kind != Kind::text || module.kind != Kind::text) {
          fail("a global whose names are no text");
        }
        push_global(out_.text(module), out_.text(name));
        break;
      }
      case 'R':
        call(Call::reduce);
        break;
      case 0x81:
        call(Call::newobj);
        break;
      case 0x92: {  // NEWOBJ_EX: keyword arguments are kept as the state
        const Value keywords = pop();
        call(Call::newobj);
        out_.objects.back().state = keywords;
        break;
      }
      case 'b':
        build();
        break;
      case 'Q': {
        const Value id = pop();
        push_object(Call::persistent_id, {}, id);
        break;
      }
      default: {
        static constexpr char digits[] = "0123456789abcdef";
        fail(std::string("opcode 0x") + digits[opcode >> 4] + digits[opcode & 15] +
             ", which no checkpoint uses");
      }
    }
    return false;
  }

  struct Memo {
    bool set = false;
    Value value;
  };

  Pickle out_;
  Limits limits_;
  std::uint64_t at_ = 0, start_ = 0, used_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Memo> memo_;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> names_;
};

}  // namespace

Pickle run(std::string_view input, const Limits& limits) {
  return Machine(input, limits).run();
}

std::string_view Pickle::text(const Value& value) const {
  return value.kind == Kind::text || value.kind == Kind::bytes ? input.substr(value.at, value.count)
                                                               : std::string_view();
}

const Value* Pickle::elements(const Value& value) const {
  if (value.kind == Kind::tuple) {
    return tuples.data() + value.at;
  }
  return value.kind == Kind::list || value.kind == Kind::set ? containers[value.at].data()
                                                             : nullptr;
}

std::size_t Pickle::size(const Value& value) const {
  switch (value.kind) {
    case Kind::tuple:
      return value.count;
    case Kind::list:
    case Kind::set:
      return containers[value.at].size();
    case Kind::dict:
      return containers[value.at].size() / 2;
    default:
      return 0;
  }
}

bool Pickle::is_global(const Value& value, std::string_view module, std::string_view name) const {
  const Global* found = global(value);
  return found != nullptr && found->module == module && found->name == name;
}

const std::vector<Value>* Pickle::pairs(const Value& dict) const {
  if (dict.kind == Kind::dict) {
    return &containers[dict.at];
  }
  const Object* made = object(dict);
  if (made != nullptr && (is_global(made->callable, "collections", "OrderedDict") ||
                          is_global(made->callable, "collections", "defaultdict"))) {
    return &made->items;
  }
  return nullptr;
}

const Value* Pickle::find(const Value& dict, std::string_view key) const {
  const std::vector<Value>* list = pairs(dict);
  if (list == nullptr) {
    const Object* made = object(dict);
    list = made != nullptr && made->has_state ? pairs(made->state) : nullptr;
  }
  const Value* found = nullptr;
  for (std::size_t i = 0; list != nullptr && i + 1 < list->size(); i += 2) {
    if ((*list)[i].kind == Kind::text && text((*list)[i]) == key) {
      found = &(*list)[i + 1];  // the last one wins, as in Python
    }
  }
  return found;
}

std::optional<std::int64_t> Pickle::integer(const Value& value) const {
  if (value.kind == Kind::integer) {
    return value.integer;
  }
  return value.kind == Kind::boolean ? std::optional<std::int64_t>(value.boolean) : std::nullopt;
}

}  // namespace shardlint::checkpoint::pickle
