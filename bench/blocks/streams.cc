// Text streams beside their peers, on the lengths that chose the size of a stream's inside (seed of TextStream: the
// table of JDK-8260030). Prints times; with count_malloc preloaded, calls of malloc and bytes instead.
#include <absl/strings/str_cat.h>
#include <fmt/format.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "counted_mallocs.h"
#include "report.h"
#include "tare/good_size.h"
#include "tare/text_stream.h"

namespace tare::bench {
namespace {

// Of how many streams out of a total the text is shorter than 32, 48 and 64 characters, and longer.
struct Mix {
  const char* name;
  std::array<double, 4> streams;
};

constexpr std::array<Mix, 7> kMixes{{
    {"stream-java", {84, 10, 4, 2}},
    {"stream-metaspace", {49, 47, 0.5, 3.5}},
    {"stream-seed-java-debug", {1038, 111, 42, 4}},
    {"stream-seed-java-release", {449, 54, 26, 4}},
    {"stream-seed-metaspace-debug", {151985, 83341, 46916, 6445}},
    {"stream-seed-metaspace-release", {84123, 80332, 871, 3567}},
    {"stream-seed-inlining-debug", {160311, 83661, 47821, 15345}},
}};

constexpr std::size_t kStreams = 100'000;

// Texts of a mix, each in pieces of 1 to 16 characters: lengths uniform within a class, above 64 log-uniform to 1,000.
class Texts {
 public:
  explicit Texts(const Mix& mix) {
    std::mt19937 random(42);
    for (std::size_t i = 0; i < characters_.size(); ++i) characters_[i] = static_cast<char>('a' + random() % 26);
    std::discrete_distribution<int> classes(mix.streams.begin(), mix.streams.end());
    for (std::size_t i = 0; i < kStreams; ++i) {
      std::size_t left = length(classes(random), random);
      while (left > 0) {
        const std::size_t size = std::min<std::size_t>(left, 1 + random() % 16);
        pieces_.emplace_back(characters_.data() + random() % 900, size);
        left -= size;
      }
      ends_.push_back(pieces_.size());
    }
  }

  // Writes every text to a stream of its own.
  template <typename Stream>
  std::size_t write_all() const {
    std::size_t sum = 0;
    const std::string_view* piece = pieces_.data();
    for (const std::size_t end : ends_) {
      Stream stream;
      const std::string_view* last = pieces_.data() + end;
      for (; piece != last; ++piece) stream.put(*piece);
      const std::string_view text = stream.text();
      keep(text.data());
      sum += text.size();
    }
    return sum;
  }

 private:
  static std::size_t length(int length_class, std::mt19937& random) {
    switch (length_class) {
      case 0:
        return 1 + random() % 31;
      case 1:
        return 32 + random() % 16;
      case 2:
        return 48 + random() % 16;
      default:
        return static_cast<std::size_t>(64 * std::pow(1000.0 / 64, std::uniform_real_distribution<>(0, 1)(random)));
    }
  }

  std::array<char, 1024> characters_{};
  std::vector<std::string_view> pieces_;
  std::vector<std::size_t> ends_;
};

template <std::size_t kInline>
struct Tare {
  BasicTextStream<kInline> stream;
  void put(std::string_view piece) { stream.append(piece); }
  std::string_view text() { return stream.view(); }
};

// What can't be beaten: memory that is there and large enough for all, and nothing is checked.
struct Hand {
  char memory[1024];
  std::size_t size = 0;
  void put(std::string_view piece) {
    text_details::copy(memory + size, piece.data(), piece.size());
    size += piece.size();
  }
  std::string_view text() { return {memory, size}; }
};

// As stringStream was before: 256 characters from malloc at once, then doubling.
struct Eager256 {
  char* memory = static_cast<char*>(std::malloc(256));
  std::size_t size = 0;
  std::size_t capacity = 256;
  Eager256() = default;
  Eager256(const Eager256&) = delete;
  ~Eager256() { std::free(memory); }
  void put(std::string_view piece) {
    if (size + piece.size() + 1 > capacity) {
      capacity = std::max(2 * capacity, size + piece.size() + 1);
      memory = static_cast<char*>(std::realloc(memory, capacity));
    }
    std::memcpy(memory + size, piece.data(), piece.size());
    size += piece.size();
    memory[size] = '\0';
  }
  std::string_view text() { return {memory, size}; }
};

struct StdString {
  std::string string;
  void put(std::string_view piece) { string.append(piece); }
  std::string_view text() { return string; }
};

struct StdOstringstream {
  std::ostringstream stream;
  void put(std::string_view piece) { stream << piece; }
  std::string_view text() { return stream.view(); }
};

struct FmtMemoryBuffer {
  fmt::memory_buffer buffer;
  void put(std::string_view piece) { buffer.append(piece); }
  std::string_view text() { return {buffer.data(), buffer.size()}; }
};

struct Fmt48 {
  fmt::basic_memory_buffer<char, 48> buffer;
  void put(std::string_view piece) { buffer.append(piece); }
  std::string_view text() { return {buffer.data(), buffer.size()}; }
};

struct LlvmSmallString48 {
  llvm::SmallString<48> string;
  void put(std::string_view piece) { string.append(llvm::StringRef(piece)); }
  std::string_view text() { return string.str(); }
};

struct LlvmSvectorStream48 {
  llvm::SmallString<48> string;
  llvm::raw_svector_ostream stream{string};
  void put(std::string_view piece) { stream << llvm::StringRef(piece); }
  std::string_view text() { return string.str(); }
};

struct AbslStrAppend {
  std::string string;
  void put(std::string_view piece) { absl::StrAppend(&string, absl::string_view(piece.data(), piece.size())); }
  std::string_view text() { return string; }
};

template <typename Stream>
void measure(Report& report, const Mix& mix, const Texts& texts, const char* subject) {
  if (tare_counted_mallocs != nullptr) {
    const CountedMallocs before = tare_counted_mallocs();
    keep(texts.write_all<Stream>());
    const CountedMallocs after = tare_counted_mallocs();
    report.add(mix.name, subject, "mallocs", static_cast<double>(after.calls - before.calls) / kStreams, "count");
    report.add(mix.name, subject, "bytes", sizeof(Stream) + static_cast<double>(after.bytes - before.bytes) / kStreams,
               "bytes");
    return;
  }
  keep(texts.write_all<Stream>());
  double best = 1e300;
  for (int round = 0; round < 5; ++round) {
    const double begin = cpu_ns();
    keep(texts.write_all<Stream>());
    best = std::min(best, cpu_ns() - begin);
  }
  report.add(mix.name, subject, "time", best / kStreams, "ns");
}

}  // namespace
}  // namespace tare::bench

int main() {
  using namespace tare::bench;
  Report report;
  (void)tare::good_size(1);  // finds out whom to ask, once
  for (const Mix& mix : kMixes) {
    const Texts texts(mix);
    measure<Tare<48>>(report, mix, texts, "tare");
    measure<Tare<32>>(report, mix, texts, "tare-32");
    measure<Eager256>(report, mix, texts, "jdk-eager-256");
    if (std::string_view(mix.name).find("seed") != std::string_view::npos) continue;
    measure<Tare<64>>(report, mix, texts, "tare-64");
    measure<Tare<112>>(report, mix, texts, "tare-112");
    measure<Hand>(report, mix, texts, "hand");
    measure<StdString>(report, mix, texts, "std-string");
    measure<StdOstringstream>(report, mix, texts, "std-ostringstream");
    measure<FmtMemoryBuffer>(report, mix, texts, "fmt-memory-buffer");
    measure<Fmt48>(report, mix, texts, "fmt-48");
    measure<LlvmSmallString48>(report, mix, texts, "llvm-smallstring-48");
    measure<LlvmSvectorStream48>(report, mix, texts, "llvm-svector-stream-48");
    measure<AbslStrAppend>(report, mix, texts, "absl-strappend");
  }
}
