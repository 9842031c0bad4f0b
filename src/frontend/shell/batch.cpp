// sbatch: #SBATCH headers, and the script that is submitted.

#include <algorithm>

#include "base/strings.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
std::vector<Header> headers_of(const Source& source) {
  std::vector<Header> out;
  for (std::uint32_t line = 1; line <= source.line_count(); ++line) {
    const std::string_view text = source.line_text(line);
    const std::string_view plain = trim(text);
    if (!plain.empty() && plain[0] != '#') {
      break;  // sbatch stops at the first command
    }
    constexpr std::string_view mark = "#SBATCH";
    if (text.substr(0, mark.size()) != mark) {
      continue;
    }
    const std::uint32_t start = source.line_begin(line);
    std::size_t i = mark.size();
    std::vector<Span> words;
    while (i < text.size()) {
      if (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
        ++i;
        continue;
      }
      if (text[i] == '#') {
        break;
      }
      std::size_t end = i;
      while (end < text.size() && text[end] != ' ' && text[end] != '\t' && text[end] != '\r') {
        ++end;
      }
      words.push_back({&source, start + static_cast<std::uint32_t>(i),
                       start + static_cast<std::uint32_t>(end)});
      i = end;
    }
    for (std::size_t k = 0; k < words.size(); ++k) {
      const std::string_view word = words[k].text();
      if (word.empty() || word[0] != '-') {
        continue;
      }
      Header header;
      header.span = {&source, words[k].begin, words[k].end};
      const std::size_t equals = word.find('=');
      Span option = words[k], value = words[k];
      value.begin = value.end;
      if (equals != std::string_view::npos) {
        option.end = option.begin + static_cast<std::uint32_t>(equals);
        value.begin = option.end + 1;
      } else if (word.size() > 2 && word[1] != '-') {  // -N4
        option.end = option.begin + 2;
        value.begin = option.end;
      } else if (k + 1 < words.size() && words[k + 1].text()[0] != '-') {
        value = words[++k];
      }
      header.span.end = value.end;
      header.option = literal_word(option);
      header.value = literal_word(value);
      out.push_back(std::move(header));
    }
  }
  return out;
}

// sbatch [options] [SCRIPT arguments...], --wrap, or the script on standard input.
bool Evaluator::batch(std::vector<Field>& words, const Span& where) {
  const std::vector<Field> around(words.begin(), words.end());
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
    constexpr std::string_view wrap = "--wrap";
    if (word.substr(0, wrap.size()) == wrap) {
      const bool joined_value = word.size() > wrap.size();
      if (!joined_value && i + 1 >= words.size()) {
        return false;
      }
      const Text text = joined_value ? words[i].text.slice(wrap.size() + 1, words[i].text.size())
                                     : words[i + 1].text;
      std::vector<Word> outside;
      for (std::size_t k = 0; k < i; ++k) {
        outside.push_back(to_word(words[k], notes_));
      }
      around_.push_back(std::move(outside));
      child([&] { run_string(text, where, "sbatch --wrap"); });
      around_.pop_back();
      return true;
    }
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].text.plain();
    if (word.empty() || word[0] == '-' || words[i].open) {
      continue;
    }
    bool reachable = false;
    const bool here = state_.files.contains(word) || looks_like_script(word) ||
                      resolve(words[i].text, reachable).has_value();
    if (!here) {
      continue;
    }
    const std::vector<Field> arguments(words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                       words.end());
    return run_file(words[i], arguments, where, "sbatch",
                    {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i)});
  }
  if (!input_ || input_->empty()) {
    return false;
  }
  const Text text = *input_;
  std::vector<Word> outside;
  for (const Field& field : words) {
    outside.push_back(to_word(field, notes_));
  }
  const auto outer_headers = headers_;
  // The headers of a here-document: read from its text as it stands in the file, where it stands.
  const Span body = notes_.hull(text);
  if (body) {
    auto headers = std::make_shared<std::vector<Header>>();
    std::size_t line = 0;
    while (line < text.size()) {
      std::size_t end = line;
      while (end < text.size() && text.chars[end].c != '\n') {
        ++end;
      }
      const Text row = text.slice(line, end);
      constexpr std::string_view mark = "#SBATCH";
      if (row.plain().substr(0, mark.size()) == mark) {
        Field field;
        field.text = row;
        const Word whole = to_word(field, notes_);
        const std::string plain = whole.text();
        std::size_t i = mark.size();
        std::vector<Word> parts;
        while (i < plain.size()) {
          const std::size_t begin = plain.find_first_not_of(" \t\r=", i);
          if (begin == std::string::npos) {
            break;
          }
          i = std::min(plain.find_first_of(" \t\r=", begin), plain.size());
          parts.push_back(whole.slice(begin, i));
        }
        for (std::size_t k = 0; k < parts.size(); ++k) {
          if (!parts[k].text().starts_with("-")) {
            continue;
          }
          Header header;
          header.option = parts[k];
          header.span = parts[k].span();
          if (k + 1 < parts.size() && !parts[k + 1].text().starts_with("-")) {
            header.value = parts[k + 1];
          }
          headers->push_back(std::move(header));
        }
      }
      line = end + 1;
    }
    headers_ = headers;
  }
  around_.push_back(std::move(outside));
  const bool done = child([&] {
    input_.reset();
    run_string(text, where, "here-document to sbatch");
  });
  around_.pop_back();
  headers_ = outer_headers;
  return done;
}

}  // namespace shardlint::shell
