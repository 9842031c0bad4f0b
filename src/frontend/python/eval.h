#pragma once
// The evaluation: Python's semantics over values that may be unknown. Nothing is imported or run;
// a call of code that is not at hand makes unknown whatever that code could have changed.
//
// Where a condition is unknown both sides are evaluated and merged, slot by slot; a side that
// raises is dropped. The members are implemented by noun: expressions.cpp, statements.cpp,
// calls.cpp, classes.cpp, attributes.cpp, operators.cpp, builtins.cpp, methods.cpp, library.cpp.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/python/classes.h"
#include "frontend/python/heap.h"
#include "frontend/python/modules.h"
#include "schema/schema.h"

namespace shardlint::python {

// Whether a function of Megatron-Bridge makes a configuration, by its full name:
// megatron.bridge.recipes.FAMILY..._config, megatron.bridge.recipes.common._sft_common.
bool is_recipe_name(std::string_view qualified);

// A Python exception on its way out of the code that is evaluated.
struct Raise {
  std::string type, text;
  Span where;
};

// The evaluation took more steps than a configuration is worth.
struct StepLimit {};

struct Argument {
  Val value;
  Name name = 0;  // of a keyword argument
  Span key, span;
};

struct Arguments {
  std::vector<Argument> positional, keywords;
  bool open = false;  // *unknown or **unknown among them
  const Argument* keyword(Name name) const;
  // The positional argument at `at`, or the keyword of that name, or null.
  const Val* get(std::size_t at, Name name = 0) const;
};

enum class Flow : std::uint8_t { next, returned, broke, continued };

// A path that left a function or loop while another went on: its state relative to `mark`.
struct Pending {
  Journal::Mark mark = 0;
  Delta delta;
  Val value;
};

struct Loop {
  std::vector<Pending> breaks, continues;
};

struct Frame {
  Object* scope = nullptr;
  Module* module = nullptr;
  Class* class_body = nullptr;  // evaluating its attributes
  const Function* function = nullptr;
  Val self;  // the first argument of a method
  std::vector<Pending> returns;
  std::vector<Loop*> loops;
  Val result;
  std::set<Name> globals;  // declared global or nonlocal
  Frame* outer = nullptr;
};

// The classes and functions of this framework that the evaluation knows by name.
struct Limits {
  std::size_t steps = 300'000;        // of one function, or of one statement of a module
  std::size_t all_steps = 1'000'000;  // with the statements of modules that it is the first to need
  int depth = 40;
  std::size_t items = 4096;  // of one list
  std::size_t iterations = 1024;
};

class Interpreter {
 public:
  Interpreter(ModuleTable& modules, Names& names, const Schema* schema);

  // Calls a function of a module with no arguments: parameters have their defaults, those that
  // have none are unknown. The state it leaves behind is kept until reset().
  Val call_entry(const Function& function);
  // Runs the top level of a module as a script.
  void run_script(Module& module);
  // Takes back all changes and frees what the last entry allocated.
  void reset();

  // A global name of a module, running the statements that it takes. Throws Raise.
  Val global(Module& module, Name name);
  // A name of a module as `from module import name` gives it. Throws Raise.
  Val member(Module& module, Name name) { return module_attribute(module, name, false); }
  // What a recipe that the catalogue ships returns; `where` is the place of everything it sets.
  std::optional<Val> shipped(const std::string& name, const Span& where);
  // A field as reading it would give, without raising: nothing when there is none.
  std::optional<Val> peek(const Val& object, Name name);
  const std::vector<FieldInfo>& fields(Class& cls);
  std::optional<Val> default_of(const Object& object, Name name);
  Val join(const Val& a, const Val& b);
  bool alike(const Val& a, const Val& b) const { return same(a, b); }

  Names& names() { return names_; }
  const Schema* schema() const { return schema_; }
  // Told of every object handed to pretrain() or finetune().
  std::function<void(const Val&, const Span&)> on_train;
  std::vector<Diagnostic> problems;

 private:
  struct Common {
    Name self, init, post_init, setattr, getattr, call, all, name_dunder, file_dunder, main, value,
        name, dict, class_dunder, dataclass_fields, type_checking, cls, underscore, doc, qualname,
        module, config, cfg, size_dunder;
  };

  // heap
  template <typename T>
  T* keep(T value) {
    return (permanent_ > 0 ? lasting_ : passing_).make<T>(std::move(value));
  }
  struct Permanent;  // while alive, what is made outlives reset()
  Val object(Object object, const Span& where = {});
  Val text(std::string value, const Span& where = {});
  Val external(std::string name);
  Val mystery(Reason reason, std::string detail, const Span& where = {}, bool not_null = false,
              Hint hint = Hint::none);
  Val sequence(Shape shape, std::vector<Val> values, const Span& where = {});
  Val dict(std::vector<Val> keys, std::vector<Val> values, const Span& where = {});
  Val opaque(std::string label, const Span& where);
  Span span(const Node& node) const;
  void step();
  bool deep(int limit);
  [[noreturn]] void raise(std::string type, std::string text, const Node* node = nullptr);

  // expressions
  Val eval(const Node* node);
  Val eval_inner(const Node& node);
  Val name(const Node& node);
  Val fstring(const Node& node);
  Val dict_literal(const Node& node);
  Val subscript(const Node& node);
  Val boolean(const Node& node);
  Val compare_chain(const Node& node);
  Val conditional(const Node& node);
  Val comprehension(const Node& node);
  bool comprehend(const Node& node, std::size_t clause, std::vector<Val>& keys,
                  std::vector<Val>& values);
  Val item(const Val& container, const Val& index, const Node& node);
  void set_item(const Val& container, const Val& index, const Val& value, const Node& node);

  // statements
  Flow run(const Node& block);
  Flow statement(const Node& node);
  Flow if_statement(const Node& node);
  Flow for_statement(const Node& node);
  Flow while_statement(const Node& node);
  Flow try_statement(const Node& node);
  Flow with_statement(const Node& node);
  void import_statement(const Node& node, Name only = 0);
  void import_from(const Node& node, Name only = 0);
  void assign(const Node& target, const Val& value, const Span& value_span);
  void bind(Name name, const Val& value);
  Val place(const Node& node);
  Val part_of(const Val& holder, Name name, const Span& where);
  void delete_target(const Node& target);
  void define_function(const Node& node);
  void define_class(const Node& node);
  void unread(const Node& node);
  // Runs both ways of an undecided point and merges them.
  Flow both(const std::function<Flow()>& a, const std::function<Flow()>& b);
  Flow weak_loop(const std::function<Flow()>& body);
  Val fork(const std::vector<std::function<Val()>>& ways);
  void leave(Flow flow, Journal::Mark mark, Delta delta, const Val& value);
  void take_back(Journal::Mark mark);
  Delta capture(Journal::Mark mark);
  bool settle(std::vector<Pending>& pending, bool alive, Val* value);
  bool assume(const Node& test, bool truth);

  // merging
  void merge(Journal::Mark mark, const Delta& other);
  SlotValue join_slot(const Slot& slot, const SlotValue& a, const SlotValue& b);
  bool same(const Val& a, const Val& b) const;
  void havoc(const Val& value, Reason reason, const std::string& detail, const Span& where);

  // calls
  Val call(const Node& node);
  Val call(const Val& callee, const Arguments& arguments, const Node& node);
  Val call_function(const Function& function, const Arguments& arguments, const Node& node,
                    const Val* self);
  void bind_arguments(const Function& function, const Arguments& arguments, const Node& node,
                      const Val* self, Frame& frame, bool entry);
  Val run_function(const Function& function, Frame& frame);
  Arguments arguments(const Node& node);
  Val unknown_call(const std::string& what, const Arguments& arguments, const Node& node,
                   bool pure);
  std::optional<Val> known_opaque(const Function& function, const Arguments& arguments,
                                  const Node& node);

  // classes
  Class* class_of(const Node& node, Object* scope);
  Class* catalogued(std::string_view qualified);
  void resolve_bases(Class& cls, const Node& node);
  Val instantiate(Class& cls, const Arguments& arguments, const Node& node);
  void dataclass_init(const Val& self, Class& cls, const Arguments& arguments, const Node& node);
  Class* dataclass_of(Class& cls);
  void computed_fields(const Val& self, Class& cls, const Node& node);
  std::optional<Val> class_attribute(Class& cls, Name name);
  const Function* method(const Class& cls, Name name, const Class* after = nullptr);
  Val field_default(FieldInfo& field, bool fresh, const Node* node = nullptr);
  Val catalogue_value(const Value& value);
  std::optional<bool> is_instance(const Val& value, const Val& cls);
  std::optional<bool> is_subclass(const Class& cls, const Val& base);

  // attributes
  Val attribute(const Val& object, Name name, const Node* node);
  std::optional<Val> try_attribute(const Val& object, Name name, const Node* node);
  void set_attribute(const Val& object, Name name, const Val& value, const Span& key,
                     const Span& value_span, const Node* node);
  void set_field(Object& object, Name name, const Val& value, const Span& key = {},
                 const Span& value_span = {}, std::string_view note = {});
  void set_items(Object& object, Items items);
  std::optional<bool> has_attribute(const Val& object, Name name);
  Val module_attribute(Module& module, Name name, bool throws);
  Val external_attribute(const std::string& name);
  Val super_attribute(const Object& super, Name name, const Node* node);

  // operators
  std::optional<bool> truth(const Val& value);
  std::optional<bool> compare(Op op, const Val& a, const Val& b);
  std::optional<bool> equal(const Val& a, const Val& b);
  std::optional<bool> is_none(const Val& value);
  Val binary(Op op, const Val& a, const Val& b, const Span& where);
  Val unary(Op op, const Val& value, const Span& where);
  std::optional<std::string> str(const Val& value);
  std::optional<std::string> repr(const Val& value);
  const std::vector<Val>* elements(const Val& value);  // of a known list, tuple or set
  std::optional<std::vector<Val>> iterate(const Val& value);
  const Val* dict_get(const Object& dict, const Val& key, bool& certain);
  Val map_alternatives(const Val& value, const std::function<Val(const Val&)>& f);
  Val yes_no(std::optional<bool> value, const Span& where, const char* what);

  // builtins.cpp, methods.cpp, library.cpp
  Val call_external(const std::string& name, const Arguments& arguments, const Node& node);
  std::optional<Val> call_builtin(std::string_view name, const Arguments& arguments,
                                  const Node& node);
  std::optional<Val> call_library(const std::string& name, const Arguments& arguments,
                                  const Node& node);
  void raw_set(const Val& self, const Val& name, const Val& value);
  Val call_method(const Val& self, Name name, const Arguments& arguments, const Node& node);
  std::optional<Val> text_method(const std::string& self, std::string_view name,
                                 const Arguments& arguments, const Node& node);
  std::optional<Val> list_method(const Val& self, std::string_view name, const Arguments& arguments,
                                 const Node& node);
  std::optional<Val> dict_method(const Val& self, std::string_view name, const Arguments& arguments,
                                 const Node& node);
  Val copy(const Val& value, bool deep, std::map<const Object*, Object*>& copied);

  ModuleTable& modules_;
  Names& names_;
  const Schema* schema_;
  Common common_;
  Limits limits_;
  Arena lasting_, passing_;
  Journal journal_;
  Frame* frame_ = nullptr;
  const CallSite* site_ = nullptr;
  std::deque<Class> classes_;
  std::map<std::pair<const Node*, const Object*>, Class*> class_index_;
  std::map<std::string, Class*, std::less<>> catalogue_;
  std::map<std::string, Val, std::less<>> externals_;
  std::size_t steps_ = 0, all_steps_ = 0;
  int depth_ = 0, permanent_ = 0;
  int outer_depth_ = 0;  // of the calls that are waiting for a module's statement
  std::uint32_t writes_ = 0;
  const Module* script_ = nullptr;
  struct Assigning {
    Name name = 0;
    Span key, value_span;
    const CallSite* site = nullptr;
  };
  std::optional<Assigning> assigning_;  // inside a class's own __setattr__
};

struct Interpreter::Permanent {
  explicit Permanent(Interpreter& i)
      : interpreter(i), frame(i.frame_), site(i.site_), steps(i.steps_), depth(i.depth_) {
    ++i.permanent_;
    std::swap(journal, i.journal_);
    i.site_ = nullptr;
    // What lasts must not depend on who needed it first: it starts afresh.
    i.steps_ = 0;
    i.depth_ = 0;
    i.outer_depth_ += depth;
  }
  ~Permanent() {
    --interpreter.permanent_;
    interpreter.steps_ = steps;
    interpreter.depth_ = depth;
    interpreter.outer_depth_ -= depth;
    std::swap(journal, interpreter.journal_);
    interpreter.frame_ = frame;
    interpreter.site_ = site;
  }
  Permanent(const Permanent&) = delete;
  Permanent& operator=(const Permanent&) = delete;
  Interpreter& interpreter;
  Journal journal;
  Frame* frame;
  const CallSite* site;
  std::size_t steps;
  int depth;
};

}  // namespace shardlint::python
