#include "frontend/words.h"

#include <doctest/doctest.h>

using namespace shardlint;

namespace {

Piece known(const Source& source, std::uint32_t begin, std::uint32_t end) {
  Piece piece;
  piece.span = {&source, begin, end};
  piece.text = std::string(piece.span.text());
  return piece;
}

Piece unknown_piece(const Source& source, std::uint32_t begin, std::uint32_t end) {
  Piece piece = known(source, begin, end);
  piece.unknown =
      std::make_shared<Unknown>(Unknown{Reason::environment, piece.text, piece.span, false, {}});
  piece.text = std::string(1, Word::unknown_mark);
  piece.verbatim = false;
  return piece;
}

}  // namespace

TEST_SUITE("words") {
  TEST_CASE("a word in several runs") {
    const Source source("a.sh", "N=8\nrun --nproc=$N $HOME/x");
    Word word;
    word.written = {&source, 8, 18};
    word.pieces = {known(source, 8, 16), known(source, 2, 3)};
    CHECK(word.text() == "--nproc=8");
    CHECK(word.known());
    CHECK(word.span() == Span{&source, 8, 18});  // no single run: as written
    const Word value = word.slice(word.find('=') + 1);
    CHECK(value.text() == "8");
    CHECK(value.span() == Span{&source, 2, 3});
    CHECK(word.slice(2, 7).span() == Span{&source, 10, 15});
  }

  TEST_CASE("unknown pieces count one byte") {
    const Source source("a.sh", "$HOME/x");
    Word word;
    word.written = {&source, 0, 7};
    word.pieces = {unknown_piece(source, 0, 5), known(source, 5, 7)};
    CHECK(word.text().size() == 3);
    CHECK(word.shown() == "$HOME/x");
    REQUIRE(word.value().if_unknown());
    CHECK(word.value().if_unknown()->reason == Reason::environment);
    CHECK(word.value().if_unknown()->not_null);
    CHECK(word.slice(1).text() == "/x");
    CHECK(word.slice(1).known());
  }

  TEST_CASE("the empty value after a key keeps its place") {
    const Source source("a.sh", "x key=");
    const Word value = literal_word({&source, 2, 6}).slice(4);
    CHECK(value.text().empty());
    CHECK(value.span() == Span{&source, 6, 6});
  }
}
