// The same spell checker, whose table outlives the comparison: its two rows are made longer for a word that is longer
// than all before, and else used again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tare/buffer.h"

namespace {

// Letters to be added, dropped or exchanged to make one word of another (Levenshtein 1965), row by row.
class EditDistance {
 public:
  std::size_t of(std::string_view a, std::string_view b) {
    if (!above_.resize(std::max(above_.size(), b.size() + 1)) || !row_.resize(above_.size())) std::abort();
    std::size_t* above = above_.data();
    std::size_t* row = row_.data();
    for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
      row[0] = i + 1;
      for (std::size_t j = 0; j < b.size(); ++j) {
        const std::size_t exchanged = above[j] + (a[i] != b[j]);
        row[j + 1] = std::min({above[j + 1] + 1, row[j] + 1, exchanged});
      }
      std::swap(above, row);
    }
    return above[b.size()];
  }

 private:
  tare::Buffer<std::size_t> above_;
  tare::Buffer<std::size_t> row_;
};

struct Suggestion {
  std::size_t word = 0;
  std::size_t distance = ~std::size_t{0};
};

Suggestion nearest(std::string_view unknown, const std::vector<std::string>& dictionary) {
  Suggestion best;
  EditDistance distances;
  for (std::size_t i = 0; i < dictionary.size(); ++i) {
    const std::size_t distance = distances.of(unknown, dictionary[i]);
    if (distance < best.distance) best = {i, distance};
  }
  return best;
}

struct Random {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  }
};

std::string made_up_word(Random& random) {
  std::string word;
  for (std::uint64_t letters = 3 + random.below(9); letters > 0; --letters) {
    word += static_cast<char>('a' + random.below(26));
  }
  return word;
}

}  // namespace

int main() {
  Random random{7};
  std::vector<std::string> dictionary;
  for (int i = 0; i < 2000; ++i) dictionary.push_back(made_up_word(random));
  std::size_t sum = 0;
  for (int unknown = 0; unknown < 200; ++unknown) {
    std::string word = dictionary[random.below(dictionary.size())];
    word[random.below(word.size())] = '-';  // a letter that somebody mistyped
    const Suggestion found = nearest(word, dictionary);
    sum = sum * 31 + found.word + found.distance;
  }
  std::printf("%zu words, sum %zx\n", dictionary.size(), sum);
}
