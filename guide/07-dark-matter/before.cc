// A server that answers searches over documents, and says on request where its memory is: it reports its documents,
// which everybody knows to be large. The rest of its tree is called heap-unclassified.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tare/memory_reporter.h"

namespace {

struct Random {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  }
};

// The heap bytes of a string; short ones lie in the object.
std::size_t heap_of(const std::string& text, tare::SizeOf size_of) {
  const auto* inside = reinterpret_cast<const char*>(&text);
  const bool is_short = text.data() >= inside && text.data() < inside + sizeof text;
  return is_short ? 0 : size_of(text.data());
}

class Documents {
 public:
  Documents()
      : reporter_(tare::ReporterRegistry::process().add("explicit/documents", [this](tare::ReportSink& sink) {
          sink.block("list", texts_.data(), "the list of documents");
          const tare::SizeOf size_of = sink.size_of("texts");
          std::size_t bytes = 0;
          for (const std::string& text : texts_) bytes += heap_of(text, size_of);
          sink.heap("texts", bytes, "what the documents say");
        })) {}

  void add(std::string text) { texts_.push_back(std::move(text)); }
  std::size_t size() const { return texts_.size(); }
  std::string_view text(std::size_t number) const { return texts_[number]; }

 private:
  std::vector<std::string> texts_;
  tare::ReporterHandle reporter_;
};

// Which documents have a word.
class Index {
 public:
  void add(std::string_view word, std::uint32_t document) {
    if (2 * (terms_ + 1) > slots_.size()) grow();
    std::unique_ptr<Term>& slot = find(word);
    if (slot == nullptr) {
      slot = std::make_unique<Term>();
      slot->word = word;
      ++terms_;
    }
    if (slot->documents.empty() || slot->documents.back() != document) slot->documents.push_back(document);
  }

  std::size_t count(std::string_view word) {
    const std::unique_ptr<Term>& slot = find(word);
    return slot == nullptr ? 0 : slot->documents.size();
  }

 private:
  struct Term {
    std::string word;
    std::vector<std::uint32_t> documents;  // ascending
  };

  std::unique_ptr<Term>& find(std::string_view word) {
    std::size_t at = std::hash<std::string_view>()(word) & (slots_.size() - 1);
    while (slots_[at] != nullptr && slots_[at]->word != word) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    std::vector<std::unique_ptr<Term>> old(std::max<std::size_t>(1024, 2 * slots_.size()));
    old.swap(slots_);
    for (std::unique_ptr<Term>& term : old) {
      if (term != nullptr) find(term->word) = std::move(term);
    }
  }

  std::vector<std::unique_ptr<Term>> slots_;
  std::size_t terms_ = 0;
};

// The clients that are connected, and their requests.
class Sessions {
 public:
  void ask(std::size_t user, std::string question, std::size_t answers) {
    if (user >= sessions_.size()) sessions_.resize(user + 1);
    if (sessions_[user] == nullptr) sessions_[user] = std::make_unique<Session>();
    sessions_[user]->questions.push_back(std::move(question));
    sessions_[user]->answers += answers;
  }
  std::size_t answers() const {
    std::size_t all = 0;
    for (const auto& session : sessions_) all += session == nullptr ? 0 : session->answers;
    return all;
  }

 private:
  struct Session {
    std::vector<std::string> questions;
    std::size_t answers = 0;
  };

  std::vector<std::unique_ptr<Session>> sessions_;
};

std::string word_of(std::uint64_t rank) {
  static constexpr const char* kParts[] = {"ba", "ce", "di", "fo", "gu", "ha", "le", "mi", "no", "pu"};
  std::string word;
  do {
    word += kParts[rank % 10];
    rank /= 10;
  } while (rank != 0);
  return word;
}

}  // namespace

int main() {
  Documents documents;
  Index index;
  Sessions sessions;
  Random random{5};
  for (std::uint32_t number = 0; number < 3000; ++number) {
    std::string text;
    for (std::uint64_t words = 100 + random.below(300); words > 0; --words) {
      const std::string word = word_of(random.below(1 + random.below(60'000)));
      index.add(word, number);
      text += word + " ";
    }
    documents.add(std::move(text));
  }
  for (int i = 0; i < 30'000; ++i) {
    std::string question = word_of(random.below(2000));
    const std::size_t found = index.count(question);
    sessions.ask(random.below(5000), "find " + question + " in all documents", found);
  }
  std::printf("%zu documents, %zu answers\n", documents.size(), sessions.answers());
  std::fputs(tare::to_text(tare::ReporterRegistry::process().collect()).c_str(), stdout);
}
