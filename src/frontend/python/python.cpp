#include "frontend/python/python.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "frontend/python/recipes.h"
#include "frontend/python/tree.h"

namespace shardlint {

using namespace python;

namespace {

bool trains(std::string_view text) {
  return (text.find("pretrain(") != std::string_view::npos ||
          text.find("finetune(") != std::string_view::npos) &&
         text.find("megatron.bridge") != std::string_view::npos;
}

}  // namespace

bool may_hold_configuration(std::string_view text) {
  return text.find("ConfigContainer") != std::string_view::npos ||
         text.find("megatron.bridge") != std::string_view::npos;
}

struct PythonReader::Impl {
  PythonOptions options;
  RealDisk real;
  Names names;
  ModuleTable modules;
  Interpreter interpreter;
  Emitter emitter;

  explicit Impl(PythonOptions given)
      : options(std::move(given)),
        names(options.files ? options.files->names() : std::make_shared<NameTable>()),
        modules(disk(), *options.sources, names, options.source_roots, options.files),
        interpreter(modules, names, options.schema),
        emitter(interpreter, options.defaults) {}

  const Disk& disk() const { return options.disk ? *options.disk : real; }

  Facts facts_of(const Val& value, std::string instance, const Span& anchor) {
    Facts facts;
    facts.framework = "megatron-bridge";
    facts.instance = std::move(instance);
    facts.anchor = anchor;
    facts.closed = true;
    if (value.is(Type::object) && value.object->shape == Shape::opaque) {
      // A recipe that is not at hand: what it sets is not known.
      facts.closed = false;
      std::string base = value.object->label.substr(0, value.object->label.find('('));
      facts.base = base.substr(base.rfind('.') + 1);
    } else if (value.is(Type::object) && !value.object->model.empty()) {
      facts.base = value.object->model;  // a shipped recipe, known through the catalogue
    }
    emitter.emit(value, facts);
    return facts;
  }

  std::optional<Facts> function(Module& module, const Candidate& candidate,
                                std::vector<Diagnostic>& diagnostics) {
    const Node& node = *candidate.node;
    const std::string name(names.text(node.name));
    // The name itself, so that a finding without a better place has a short one.
    const Source& source = module.syntax->source();
    const std::size_t at = source.text().find(name, node.begin);
    const auto begin = static_cast<std::uint32_t>(at);
    const Span anchor{&source, begin, begin + static_cast<std::uint32_t>(name.size())};
    std::optional<Facts> facts;
    try {
      const Val callee = interpreter.global(module, node.name);
      if (callee.is(Type::function) && callee.function->node == &node) {
        const Val result = interpreter.call_entry(*callee.function);
        if (is_configuration(result, names)) {
          facts = facts_of(result, name, anchor);
        } else if (candidate.annotated) {
          diagnostics.push_back(
              python_problem("PYT105", Severity::info,
                             name + "() could not be evaluated to a configuration", anchor));
        }
      }
    } catch (const Raise& raised) {
      if (candidate.annotated) {
        std::string message = name + "() raises " + raised.type;
        if (!raised.text.empty()) {
          message += ": " + raised.text;
        }
        Diagnostic problem = python_problem("PYT104", Severity::info, std::move(message), anchor);
        if (raised.where) {
          problem.related.push_back({locate(raised.where), "raised here"});
        }
        diagnostics.push_back(std::move(problem));
      }
    } catch (const StepLimit&) {
      if (candidate.annotated) {
        diagnostics.push_back(python_problem("PYT103", Severity::warning,
                                             name + "() takes too many steps to evaluate", anchor));
      }
    }
    interpreter.reset();
    return facts;
  }
};

PythonReader::PythonReader(PythonOptions options) {
  ensure(options.sources != nullptr, "a Python reader needs a place for the files that it follows");
  impl_ = std::make_unique<Impl>(std::move(options));
}

PythonReader::~PythonReader() = default;

std::size_t PythonReader::files_read() const {
  return impl_->modules.files_read();
}

bool PythonReader::order_matters() const {
  return impl_->modules.order_matters;
}

std::vector<Facts> PythonReader::read(const Source& source, std::vector<Diagnostic>& diagnostics) {
  Module* module = impl_->modules.open(source, diagnostics);
  return module->syntax ? read(*module, diagnostics) : std::vector<Facts>();
}

void PythonReader::parse_ahead(const std::string& path) {
  if (impl_->options.files) {
    impl_->options.files->open(path, impl_->disk(), impl_->names);
  }
}

std::pair<const Syntax*, const Names*> PythonReader::syntax(const std::string& path) const {
  const Module* module = impl_->modules.opened(path);
  return {module ? module->syntax : nullptr, &impl_->names};
}

std::optional<std::vector<Facts>> PythonReader::read_shared(const std::string& path,
                                                            std::string_view text,
                                                            std::vector<Diagnostic>& diagnostics) {
  Module* module = impl_->modules.open_shared(path);
  if (!module || order_matters() || module->syntax->source().text() != text || trains(text)) {
    return std::nullopt;  // running a script leaves its names as it left them
  }
  std::vector<Diagnostic> found = module->problems;
  std::vector<Facts> all = read(*module, found);
  if (order_matters()) {
    return std::nullopt;
  }
  diagnostics.insert(diagnostics.end(), found.begin(), found.end());
  return all;
}

std::vector<Facts> PythonReader::read(Module& module, std::vector<Diagnostic>& diagnostics) {
  std::vector<Facts> all;
  const Source& source = module.syntax->source();
  for (const Candidate& candidate :
       recipe_candidates(module, impl_->names, impl_->options.private_functions)) {
    if (!impl_->options.only.empty() &&
        impl_->names.text(candidate.node->name) != impl_->options.only) {
      continue;
    }
    if (auto facts = impl_->function(module, candidate, diagnostics)) {
      all.push_back(std::move(*facts));
    }
  }
  if (impl_->options.only.empty() && trains(source.text())) {
    impl_->interpreter.on_train = [&](const Val& config, const Span& call) {
      if (call.source == &source && is_configuration(config, impl_->names) && all.size() < 1000) {
        const std::string line = std::to_string(source.line_of(call.begin));
        all.push_back(impl_->facts_of(config, "script, line " + line, call));
      }
    };
    try {
      impl_->interpreter.run_script(module);
    } catch (const StepLimit&) {
      diagnostics.push_back(python_problem("PYT103", Severity::warning,
                                           "the script takes too many steps to evaluate",
                                           {&source, 0, 0}));
    }
    impl_->interpreter.on_train = nullptr;
    impl_->interpreter.reset();
  }
  return all;
}

std::optional<Facts> PythonReader::recipe(std::string_view name, std::string_view near,
                                          const Span& where, std::vector<Diagnostic>& diagnostics) {
  Impl& impl = *impl_;
  if (name.empty() || name.size() > 200) {
    return std::nullopt;
  }
  impl.modules.add_roots_above(normal_path(near));
  const Name wanted = impl.names.intern(name.substr(name.rfind('.') + 1));
  for (const char* package : {"megatron.bridge.recipes", "megatron.bridge.perf_recipes",
                              "megatron.bridge.diffusion.recipes"}) {
    Module* module = impl.modules.find(package);
    if (!module) {
      continue;
    }
    std::optional<Facts> facts;
    try {
      const Val found = impl.interpreter.member(*module, wanted);
      if (found.is(Type::function) && found.function->node->tag == Tag::function) {
        Candidate candidate{found.function->node, true};
        facts = impl.function(*found.function->module, candidate, diagnostics);
      }
    } catch (const Raise&) {
    } catch (const StepLimit&) {
    }
    impl.interpreter.reset();
    if (facts) {
      return facts;
    }
  }
  std::optional<Facts> facts;
  if (auto value = impl.interpreter.shipped(std::string(name), where)) {
    facts = impl.facts_of(*value, std::string(name), where);
  }
  impl.interpreter.reset();
  return facts;
}

std::vector<Facts> read_python(const Source& source, const PythonOptions& options,
                               std::vector<Diagnostic>& diagnostics) {
  PythonReader reader(options);
  return reader.read(source, diagnostics);
}

}  // namespace shardlint
