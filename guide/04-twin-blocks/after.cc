// An indexer for a code browser: it reads source files, remembers every identifier once, and for each where it occurs.
// A symbol is an atom: its characters lie behind its header in one block, and whoever refers to it keeps four bytes.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tare/atom.h"
#include "tare/atom_table.h"

namespace {

struct Occurrence {
  tare::Atom symbol;
  std::uint32_t file;
  std::uint32_t line;
};

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return starts_word(c) || (c >= '0' && c <= '9'); }

void index_file(std::uint32_t file, std::string_view text, tare::AtomTable& symbols,
                std::vector<Occurrence>& occurrences) {
  std::uint32_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\n') ++line;
    if (!starts_word(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && continues_word(text[end])) ++end;
    occurrences.push_back({symbols.intern(text.substr(i, end - i)), file, line});
    i = end;
  }
}

// Source text as people write it: few names often, many names seldom.
std::string write_source(std::uint32_t file) {
  static constexpr const char* kStems[] = {"node", "tree",   "list", "index", "buffer",
                                           "page", "cursor", "lock", "event", "time"};
  static constexpr const char* kVerbs[] = {"get",  "set",  "find",  "make",  "visit",
                                           "free", "copy", "merge", "print", "check"};
  std::uint64_t state = file;
  const auto below = [&state](std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  };
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::string local = std::string(kStems[below(10)]) + "_" + std::to_string(below(40));
    const std::string global = std::string(kVerbs[below(10)]) + "_" + kStems[below(10)] + "_" + std::to_string(file) +
                               "_" + std::to_string(below(200));
    text +=
        "  const auto " + local + " = " + global + "(" + kStems[below(10)] + ", " + std::to_string(below(100)) + ");\n";
  }
  return text;
}

}  // namespace

int main() {
  tare::AtomTable symbols;
  std::vector<Occurrence> occurrences;
  for (std::uint32_t file = 0; file < 1000; ++file) index_file(file, write_source(file), symbols, occurrences);
  const tare::Atom wanted = symbols.intern("tree_7");
  std::size_t uses = 0, last = 0;
  for (const Occurrence& occurrence : occurrences) {
    if (occurrence.symbol != wanted) continue;
    ++uses;
    last = occurrence.file;
  }
  std::printf("%zu symbols, %zu occurrences; %.*s: %zu, last in file %zu\n", symbols.use().used_atoms,
              occurrences.size(), static_cast<int>(wanted.size_bytes()), wanted.characters(), uses, last);
}
