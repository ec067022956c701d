// The texts that the atoms bench interns: an English word list and what a page's ids and classes look like.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace atoms_bench {

inline constexpr const char* kWordList = "/usr/share/dict/american-english";  // Debian's wamerican: 104,334 words
inline constexpr std::size_t kWords = 104'334;
inline constexpr std::size_t kNames = 60'000;

// Texts one after another in one block, so that reading one costs what reading input costs.
class Texts {
 public:
  explicit Texts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) characters_ += text;
    std::size_t at = 0;
    for (const std::string& text : texts) {
      views_.emplace_back(characters_.data() + at, text.size());
      at += text.size();
    }
  }
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;
  std::size_t size() const { return views_.size(); }
  std::string_view operator[](std::size_t i) const { return views_[i]; }

 private:
  std::string characters_;
  std::vector<std::string_view> views_;
};

// Pronounceable words in place of the list's, if that isn't installed: like it in number and lengths (8.5 on average).
inline std::vector<std::string> invented_words() {
  constexpr std::string_view kSyllables[] = {"ba",  "con", "der", "ing", "lo",  "mi",
                                             "pre", "st",  "ter", "un",  "ver", "y"};
  std::mt19937_64 random(1);
  std::unordered_set<std::string> made;
  while (made.size() < kWords) {
    std::string word;
    for (std::uint64_t n = 2 + random() % 4; n > 0; --n) word += kSyllables[random() % std::size(kSyllables)];
    made.insert(word);
  }
  return {made.begin(), made.end()};
}

// All 164,334, shuffled. `has_word_list` says which words they have.
inline std::vector<std::string> all_texts(bool& has_word_list) {
  std::vector<std::string> texts;
  std::ifstream list(kWordList);
  for (std::string word; std::getline(list, word);) texts.push_back(word);
  has_word_list = texts.size() == kWords;
  if (!has_word_list) texts = invented_words();
  std::unordered_set<std::string> seen(texts.begin(), texts.end());
  constexpr std::string_view kParts[] = {"nav",  "item", "header",  "content", "btn",  "primary", "list",  "card",
                                         "icon", "menu", "sidebar", "wrapper", "link", "title",   "modal", "row"};
  std::mt19937_64 random(2);
  const auto part = [&] { return std::string(kParts[random() % std::size(kParts)]); };
  while (seen.size() < kWords + kNames) {
    std::string name;
    switch (random() % 3) {
      case 0:
        name = part() + "-" + part() + "-" + std::to_string(random() % 5000);
        break;
      case 1:
        name = part() + "_" + std::to_string(random() % 100'000);
        break;
      default: {
        static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
        name = "css-";
        for (int i = 0; i < 7; ++i) name += kDigits[random() % kDigits.size()];
      }
    }
    if (seen.insert(name).second) texts.push_back(name);
  }
  std::shuffle(texts.begin(), texts.end(), std::mt19937_64(3));
  return texts;
}

// Indices below n: every one alike, or the k-th as often as 1/k says.
inline std::vector<std::uint32_t> uniform_indices(std::size_t n, std::size_t count) {
  std::mt19937_64 random(4);
  std::vector<std::uint32_t> indices(count);
  for (std::uint32_t& index : indices) index = static_cast<std::uint32_t>(random() % n);
  return indices;
}

inline std::vector<std::uint32_t> zipf_indices(std::size_t n, std::size_t count) {
  std::vector<double> sums(n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sums[i] = sum += 1.0 / static_cast<double>(i + 1);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> at(0, sum);
  std::vector<std::uint32_t> indices(count);
  for (std::uint32_t& index : indices) {
    const auto found = std::lower_bound(sums.begin(), sums.end(), at(random));
    index =
        static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(found - sums.begin(), static_cast<std::ptrdiff_t>(n) - 1));
  }
  return indices;
}

}  // namespace atoms_bench
