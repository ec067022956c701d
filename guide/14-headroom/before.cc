// A search index in memory: a list of documents for each term. It is built once, and asked from then on.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::uint32_t kTerms = 2000;
constexpr std::uint32_t kDocuments = 40000;
constexpr std::uint32_t kTermsADocument = 60;

// The documents in which a term occurs, ascending.
class Postings {
 public:
  void add(std::uint32_t document) { documents_.push_back(document); }
  std::uint64_t intersect(const Postings& other) const {
    std::uint64_t common = 0;
    std::size_t i = 0, j = 0;
    while (i < documents_.size() && j < other.documents_.size()) {
      const std::uint32_t a = documents_.data()[i], b = other.documents_.data()[j];
      common += a == b;
      i += a <= b;
      j += b <= a;
    }
    return common;
  }

 private:
  std::vector<std::uint32_t> documents_;
};

std::vector<Postings> read_documents() {
  std::vector<Postings> terms(kTerms);
  std::uint64_t state = 1;
  for (std::uint32_t document = 0; document < kDocuments; ++document) {
    for (std::uint32_t i = 0; i < kTermsADocument; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      terms[(state >> 33) % kTerms].add(document);
    }
  }
  return terms;
}

}  // namespace

int main() {
  const std::vector<Postings> terms = read_documents();
  std::uint64_t common = 0;
  for (std::uint32_t query = 0; query + 1 < kTerms; ++query) common += terms[query].intersect(terms[query + 1]);
  std::printf("%u documents, %llu found\n", kDocuments, static_cast<unsigned long long>(common));
}
