#include "lsp/server.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "diagnostics/edits.h"
#include "lsp/messages.h"
#include "lsp/transport.h"
#include "report/tool.h"

namespace shardlint::lsp {
namespace {

// A request that is answered with an error; the numbers are the protocol's.
struct Refusal {
  int code;
  std::string message;
};
constexpr int parse_error = -32700, invalid_request = -32600, method_not_found = -32601,
              invalid_params = -32602, internal_error = -32603, not_initialized = -32002;

class Server {
 public:
  Server(std::FILE* out, const Hooks& hooks) : out_(out), hooks_(hooks) {}

  // One message in; its answer, if it wants one, out.
  void handle(const std::string& content) {
    json id;
    try {
      const json message = json::parse(content);
      if (!message.is_object()) {
        throw Refusal{invalid_request, "a message is an object"};
      }
      id = message.value("id", json());
      if (!message.contains("method")) {
        return;  // an answer to a request; we make none
      }
      const json params = message.value("params", json::object());
      json result = call(message.at("method").get<std::string>(), params, !id.is_null());
      if (!id.is_null()) {
        send({{"id", id}, {"result", std::move(result)}});
      }
    } catch (const Refusal& refusal) {
      refuse(id, refusal.code, refusal.message);
    } catch (const json::parse_error& error) {
      refuse(id, parse_error, error.what());
    } catch (const json::exception& error) {  // a field that is missing or of another type
      refuse(id, invalid_params, error.what());
    } catch (const Error& error) {
      refuse(id, internal_error, error.what());
    }
  }

  bool done() const { return exit_; }
  int exit_code() const { return shutdown_ ? 0 : 1; }

 private:
  struct Method {
    std::string_view name;
    json (Server::*run)(const json& params);
  };

  json call(const std::string& name, const json& params, bool request) {
    static constexpr Method methods[] = {
        {"initialize", &Server::initialize},
        {"initialized", &Server::nothing},
        {"shutdown", &Server::shutdown},
        {"exit", &Server::exit},
        {"textDocument/didOpen", &Server::did_open},
        {"textDocument/didChange", &Server::did_change},
        {"textDocument/didSave", &Server::changed_on_disk},
        {"textDocument/didClose", &Server::did_close},
        {"workspace/didChangeWatchedFiles", &Server::changed_on_disk},
        {"workspace/didChangeConfiguration", &Server::changed_on_disk},
        {"textDocument/diagnostic", &Server::diagnostic},
        {"textDocument/codeAction", &Server::code_action},
        {"textDocument/hover", &Server::hover},
    };
    if (!initialized_ && name != "initialize" && name != "exit") {
      throw Refusal{not_initialized, "initialize comes first"};
    }
    for (const Method& method : methods) {
      if (method.name == name) {
        return (this->*method.run)(params);
      }
    }
    if (request) {
      throw Refusal{method_not_found, name};
    }
    return nullptr;  // a notification that we need not know
  }

  json initialize(const json& params) {
    const json client = params.value("capabilities", json::object());
    const json encodings = client.value("/general/positionEncodings"_json_pointer, json::array());
    for (const json& each : encodings) {
      encoding_ = each == "utf-8" ? Encoding::utf8 : encoding_;
    }
    pulls_ = client.contains("/textDocument/diagnostic"_json_pointer);
    initialized_ = true;
    return {
        {"serverInfo", {{"name", "shardlint"}, {"version", this_tool().version}}},
        {"capabilities",
         {{"positionEncoding", encoding_ == Encoding::utf8 ? "utf-8" : "utf-16"},
          {"textDocumentSync",
           {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
          {"diagnosticProvider",
           {{"identifier", "shardlint"},
            {"interFileDependencies", true},
            {"workspaceDiagnostics", false}}},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix", "source.fixAll.shardlint"}}}},
          {"hoverProvider", true}}}};
  }

  json nothing(const json&) { return nullptr; }
  json shutdown(const json&) {
    shutdown_ = true;
    return nullptr;
  }
  json exit(const json&) {
    exit_ = true;
    return nullptr;
  }

  json did_open(const json& params) {
    const json& document = params.at("textDocument");
    documents_[path(params)] = document.at("text").get<std::string>();
    changed();
    return nullptr;
  }

  json did_change(const json& params) {
    std::string& text = document(params);
    for (const json& change : params.at("contentChanges")) {
      const std::string fresh = change.at("text").get<std::string>();
      if (!change.contains("range")) {
        text = fresh;
        continue;
      }
      const Source before("", text);
      const std::uint32_t begin = offset(before, change.at("range").at("start"));
      const std::uint32_t end = std::max(begin, offset(before, change.at("range").at("end")));
      text.replace(begin, end - begin, fresh);
    }
    changed();
    return nullptr;
  }

  json did_close(const json& params) {
    const std::string name = path(params);
    documents_.erase(name);
    findings_.clear();
    if (!pulls_) {
      publish(name, json::array());
    }
    return nullptr;
  }

  json changed_on_disk(const json&) {
    hooks_.reload();
    changed();
    return nullptr;
  }

  json diagnostic(const json& params) {
    const std::string name = path(params);
    document(params);
    return {{"kind", "full"}, {"items", diagnostics(name)}};
  }

  json code_action(const json& params) {
    const std::string name = path(params);
    const Source source(name, document(params));
    const std::uint32_t begin = offset(source, params.at("range").at("start"));
    const std::uint32_t end = offset(source, params.at("range").at("end"));
    Texts texts(documents_, encoding_);
    json actions = json::array();
    Fix all{"Fix everything that can be fixed safely", Safety::safe, {}};
    for (const Diagnostic& finding : lint(name)) {
      for (const Fix& fix : finding.fixes) {
        if (fix.safety == Safety::safe) {
          take(all, fix);
          break;
        }
      }
      if (finding.where.file == name && finding.where.begin.offset <= end &&
          begin <= finding.where.end.offset) {
        add_quick_fixes(actions, finding, diagnostic_json(finding, name, texts), name, texts);
      }
    }
    if (!all.edits.empty()) {
      actions.push_back({{"title", all.title},
                         {"kind", "source.fixAll.shardlint"},
                         {"edit", workspace_edit(all, texts)}});
    }
    return actions;
  }

  json hover(const json& params) {
    const std::string name = path(params);
    const Source source(name, document(params));
    const std::uint32_t at = offset(source, params.at("position"));
    std::string text;
    for (const Diagnostic& finding : lint(name)) {
      if (finding.where.file == name && finding.where.begin.offset <= at &&
          at <= finding.where.end.offset) {
        text += fmt::format("{}```\n{}\n```\n", text.empty() ? "" : "\n---\n",
                            explain(finding.code).value_or(finding.message));
      }
    }
    if (text.empty()) {
      return nullptr;
    }
    return {{"contents", {{"kind", "markdown"}, {"value", text}}}};
  }

  // Adds a fix none of whose edits overlaps one that is there.
  static void take(Fix& all, const Fix& fix) {
    const auto clashes = [&](const Edit& edit) {
      return std::any_of(all.edits.begin(), all.edits.end(),
                         [&](const Edit& other) { return overlaps(edit, other); });
    };
    if (std::none_of(fix.edits.begin(), fix.edits.end(), clashes)) {
      all.edits.insert(all.edits.end(), fix.edits.begin(), fix.edits.end());
    }
  }

  // An editor asks for diagnostics, actions and hovers of one text.
  const std::vector<Diagnostic>& lint(const std::string& name) {
    auto found = findings_.find(name);
    if (found == findings_.end()) {
      Result result = hooks_.lint(name, documents_.at(name), documents_);
      found = findings_.emplace(name, std::move(result.diagnostics)).first;
    }
    return found->second;
  }

  json diagnostics(const std::string& name) {
    Texts texts(documents_, encoding_);
    json items = json::array();
    for (const Diagnostic& finding : lint(name)) {
      items.push_back(diagnostic_json(finding, name, texts));
    }
    return items;
  }

  // One document may be about another: a script about the recipe that it names.
  void changed() {
    findings_.clear();
    if (pulls_) {
      return;
    }
    for (const auto& [name, text] : documents_) {
      publish(name, diagnostics(name));
    }
  }

  void publish(const std::string& name, json items) {
    send({{"method", "textDocument/publishDiagnostics"},
          {"params", {{"uri", uri_of_path(name)}, {"diagnostics", std::move(items)}}}});
  }

  static std::string path(const json& params) {
    return path_of_uri(params.at("textDocument").at("uri").get<std::string>());
  }

  std::string& document(const json& params) {
    const auto it = documents_.find(path(params));
    if (it == documents_.end()) {
      throw Refusal{invalid_params, "the document is not open"};
    }
    return it->second;
  }

  std::uint32_t offset(const Source& source, const json& position) const {
    const LinePosition at{position.at("line").get<std::uint32_t>(),
                          position.at("character").get<std::uint32_t>()};
    return to_offset(source, at, encoding_);
  }

  void refuse(const json& id, int code, const std::string& message) {
    if (!id.is_null() || code == parse_error) {
      send({{"id", id}, {"error", {{"code", code}, {"message", message}}}});
    }
  }

  void send(json message) {
    message["jsonrpc"] = "2.0";
    write_message(out_, message.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  std::FILE* out_;
  const Hooks& hooks_;
  std::map<std::string, std::string> documents_;             // open ones, by path
  std::map<std::string, std::vector<Diagnostic>> findings_;  // of them, until something changes
  Encoding encoding_ = Encoding::utf16;
  bool initialized_ = false, pulls_ = false, shutdown_ = false, exit_ = false;
};

}  // namespace

int serve(std::FILE* in, std::FILE* out, const Hooks& hooks) {
  Server server(out, hooks);
  while (!server.done()) {
    const std::optional<std::string> message = read_message(in);
    if (!message) {
      break;
    }
    server.handle(*message);
  }
  return server.exit_code();
}

}  // namespace shardlint::lsp
