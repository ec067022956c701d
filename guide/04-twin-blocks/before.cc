// An indexer for a code browser: it reads source files, remembers every identifier once, and for each where it occurs.
// A symbol is an object, and its text a block of its own: two blocks that are born and die together.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Symbol {
  explicit Symbol(std::string_view name, std::uint32_t name_hash)
      : text(static_cast<char*>(std::malloc(name.size() + 1))),
        length(static_cast<std::uint32_t>(name.size())),
        hash(name_hash) {
    if (text == nullptr) std::abort();
    std::memcpy(text, name.data(), name.size());
    text[name.size()] = '\0';
  }
  Symbol(const Symbol&) = delete;
  Symbol& operator=(const Symbol&) = delete;
  ~Symbol() { std::free(text); }

  char* text;
  std::uint32_t length;
  std::uint32_t hash;
};

// Open addressing over pointers.
class SymbolTable {
 public:
  const Symbol* intern(std::string_view name) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(name);
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      std::unique_ptr<Symbol>& slot = slots_[at];
      if (slot == nullptr) {
        slot = std::make_unique<Symbol>(name, hash);
        ++count_;
        return slot.get();
      }
      if (slot->hash == hash && name == std::string_view(slot->text, slot->length)) return slot.get();
    }
  }
  std::size_t size() const { return count_; }

 private:
  static std::uint32_t hash_of(std::string_view name) {
    std::uint32_t hash = 2166136261u;
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
  }
  void grow() {
    std::vector<std::unique_ptr<Symbol>> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (std::unique_ptr<Symbol>& symbol : old) {
      if (symbol == nullptr) continue;
      std::size_t at = symbol->hash & (slots_.size() - 1);
      while (slots_[at] != nullptr) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = std::move(symbol);
    }
  }

  std::vector<std::unique_ptr<Symbol>> slots_;
  std::size_t count_ = 0;
};

struct Occurrence {
  const Symbol* symbol;
  std::uint32_t file;
  std::uint32_t line;
};

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return starts_word(c) || (c >= '0' && c <= '9'); }

void index_file(std::uint32_t file, std::string_view text, SymbolTable& symbols, std::vector<Occurrence>& occurrences) {
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
  SymbolTable symbols;
  std::vector<Occurrence> occurrences;
  for (std::uint32_t file = 0; file < 1000; ++file) index_file(file, write_source(file), symbols, occurrences);
  const Symbol* wanted = symbols.intern("tree_7");
  std::size_t uses = 0, last = 0;
  for (const Occurrence& occurrence : occurrences) {
    if (occurrence.symbol != wanted) continue;
    ++uses;
    last = occurrence.file;
  }
  std::printf("%zu symbols, %zu occurrences; %.*s: %zu, last in file %zu\n", symbols.size(), occurrences.size(),
              static_cast<int>(wanted->length), wanted->text, uses, last);
}
