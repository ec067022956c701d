// A rule server: rules come as nested lists, "(if (over load 80) (shed 3 queues) keep)". It parses each into a tree,
// keeps the last 24 rule files open, and evaluates what is asked of them. All of a file's nodes and names lie in its
// arena, in the order in which they are read, and go with it when the file is closed.
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tare/arena.h"

namespace {

struct Node {
  const char* name = nullptr;  // of a list: its first word; of a leaf: the word
  Node* first = nullptr;
  Node* next = nullptr;
  std::int64_t number = 0;
};

class RuleFile {
 public:
  explicit RuleFile(std::string_view text) : rest_(text) {
    Node** last = &rules_;
    while (skip_space(), !rest_.empty()) {
      *last = parse();
      last = &(*last)->next;
    }
  }

  // A number for the whole file, to which each word and number contributes.
  std::uint64_t evaluate() const { return evaluate(rules_, 1); }

 private:
  Node* parse() {
    auto* node = arena_.make<Node>();
    if (node == nullptr) std::abort();
    if (rest_.front() != '(') {
      set_word(node, take_word());
      return node;
    }
    rest_.remove_prefix(1);
    skip_space();
    set_word(node, take_word());
    Node** last = &node->first;
    for (skip_space(); rest_.front() != ')'; skip_space()) {
      *last = parse();
      last = &(*last)->next;
    }
    rest_.remove_prefix(1);
    return node;
  }

  void set_word(Node* node, std::string_view word) {
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      for (const char digit : word) node->number = 10 * node->number + (digit - '0');
      return;
    }
    node->name = arena_.copy(word).data();
    if (node->name == nullptr) std::abort();
  }

  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  std::string_view take_word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" ()\n"));
    rest_.remove_prefix(word.size());
    return word;
  }

  static std::uint64_t evaluate(const Node* node, std::uint64_t value) {
    for (; node != nullptr; node = node->next) {
      value = value * 31 + static_cast<std::uint64_t>(node->number);
      for (const char* c = node->name; c != nullptr && *c != '\0'; ++c) {
        value = value * 31 + static_cast<unsigned char>(*c);
      }
      value = evaluate(node->first, value);
    }
    return value;
  }

  std::string_view rest_;
  tare::Arena arena_{{.name = "rules"}};
  Node* rules_ = nullptr;
};

// The rules that operators write: one to four levels.
void write_rule(std::string& to, std::mt19937& random, int depth) {
  constexpr const char* kWords[] = {"if",   "over",  "under", "load", "queue",   "shed", "keep",
                                    "warn", "route", "shard", "peer", "latency", "and",  "or"};
  to += '(';
  to += kWords[random() % std::size(kWords)];
  for (auto parts = 1 + random() % 5; parts > 0; --parts) {
    to += ' ';
    if (depth > 0 && random() % 3 == 0) {
      write_rule(to, random, depth - 1);
    } else if (random() % 2 == 0) {
      to += std::to_string(random() % 1000);
    } else {
      to += kWords[random() % std::size(kWords)];
    }
  }
  to += ")\n";
}

}  // namespace

int main() {
  constexpr std::size_t kFiles = 150;
  constexpr std::size_t kOpen = 24;
  std::mt19937 random(1);
  std::vector<std::unique_ptr<RuleFile>> open(kOpen);
  std::uint64_t answer = 0;
  std::string text;
  for (std::size_t i = 0; i < kFiles; ++i) {
    text.clear();
    for (int rule = 0; rule < 1200; ++rule) write_rule(text, random, 3);
    open[i % kOpen] = std::make_unique<RuleFile>(text);
    for (const std::unique_ptr<RuleFile>& file : open) {
      if (file != nullptr && random() % 8 == 0) answer ^= file->evaluate();
    }
  }
  std::printf("%zu files, answer %016llx\n", kFiles, static_cast<unsigned long long>(answer));
  return 0;
}
