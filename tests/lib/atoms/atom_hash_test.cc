// The hash: spreads, sees every byte, and can't be attacked with texts that collide in another process.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/support/sanitized.h"
#include "tare/atom_table.h"
#include "tare/internal/atom_key.h"

namespace tare {
namespace {

using atom_details::HashSecret;
using atom_details::seeded_hash;

HashSecret some_secret(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return {random(), random()};
}

// How full the fullest of 4,096 places is, in the bits that choose the shard and the bucket; 16 a place expected.
template <class TextAt>
std::size_t fullest_place(TextAt text_at, const HashSecret& secret) {
  std::vector<std::size_t> places(4096);
  for (int i = 0; i < 65'536; ++i) {
    const std::uint64_t hash = seeded_hash(text_at(i), secret);
    ++places[(hash >> 8 & 15) << 8 | hash >> 56];
  }
  return *std::max_element(places.begin(), places.end());
}

TEST(AtomHash, SpreadsTextsThatAreAlike) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const HashSecret secret = some_secret(seed);
    // 45 is 7 standard deviations: a good hash has it once in a million runs.
    EXPECT_LT(fullest_place([](int i) { return std::to_string(i); }, secret), 45U);
    EXPECT_LT(fullest_place([](int i) { return "item-" + std::to_string(i); }, secret), 45U);
    EXPECT_LT(fullest_place([](int i) { return "a/rather/long/path/to/the/file-" + std::to_string(i); }, secret), 45U);
    EXPECT_LT(fullest_place(
                  [](int i) {
                    std::string text(40, '\0');
                    text[static_cast<std::size_t>(i % 40)] = static_cast<char>(i / 40);
                    text[static_cast<std::size_t>(i / 7 % 40)] = static_cast<char>(i / 256);
                    return text;
                  },
                  secret),
              200U);  // some of these texts are the same
  }
}

TEST(AtomHash, SeesEveryBitAndTheLength) {
  const HashSecret secret = some_secret(9);
  for (std::size_t size = 1; size < 70; ++size) {
    std::string text(size, 'x');
    std::set<std::uint64_t> hashes{seeded_hash(text, secret)};
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
      hashes.insert(seeded_hash(text, secret));
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    }
    EXPECT_EQ(hashes.size(), size * 8 + 1) << size;
  }
  std::set<std::uint64_t> by_length;
  for (std::size_t size = 0; size < 200; ++size) by_length.insert(seeded_hash(std::string(size, '\0'), secret));
  EXPECT_EQ(by_length.size(), 200U);
}

TEST(AtomHash, IsTheSameAtCompileTime) {
  constexpr HashSecret kSecret{0x0123456789ABCDEF, 0xFEDCBA9876543210};
  constexpr std::string_view kTexts[] = {
      "", "a", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghijklmnop", "abcdefghijklmnopq", "\x80\xFF"};
  constexpr std::uint64_t kHashes[] = {seeded_hash(kTexts[0], kSecret), seeded_hash(kTexts[1], kSecret),
                                       seeded_hash(kTexts[2], kSecret), seeded_hash(kTexts[3], kSecret),
                                       seeded_hash(kTexts[4], kSecret), seeded_hash(kTexts[5], kSecret),
                                       seeded_hash(kTexts[6], kSecret), seeded_hash(kTexts[7], kSecret),
                                       seeded_hash(kTexts[8], kSecret), seeded_hash(kTexts[9], kSecret)};
  for (std::size_t i = 0; i < std::size(kTexts); ++i) {
    const std::string copy(kTexts[i]);
    EXPECT_EQ(seeded_hash(copy, kSecret), kHashes[i]);
  }
}

// Texts that collide for one secret in the bits that a table of that size uses: shard, bucket and tag.
std::vector<std::string> colliding_texts(const HashSecret& secret, std::size_t count) {
  std::vector<std::string> found;
  const auto place = [&secret](const std::string& text) { return seeded_hash(text, secret) & 0xFFF; };
  const std::uint64_t wanted = place("0");
  for (int i = 0; found.size() < count; ++i) {
    std::string text = std::to_string(i);
    if (place(text) == wanted && seeded_hash(text, secret) >> 60 == seeded_hash("0", secret) >> 60) {
      found.push_back(std::move(text));
    }
  }
  return found;
}

TEST(AtomHash, CollisionsOfOneSecretAreNoneOfAnother) {
  // All of these go to one shard, one bucket in 16 and one tag where the secret is known.
  const HashSecret known = some_secret(11);
  const std::vector<std::string> texts = colliding_texts(known, 400 / kSanitizedDivisor);
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    const HashSecret secret = some_secret(seed);
    std::map<std::uint64_t, int> places;
    for (const std::string& text : texts) ++places[seeded_hash(text, secret) & 0xFFF];
    int fullest = 0;
    for (const auto& [place, n] : places) fullest = std::max(fullest, n);
    EXPECT_LT(fullest, 8) << "400 texts or fewer in 4,096 places";
  }
}

TEST(AtomHash, ZeroedOperandsNeedTheSecret) {
  // Products with a factor of zero are what texts against such hashes are made of: here the factors are secret.
  const HashSecret secret = some_secret(12);
  std::set<std::uint64_t> hashes;
  for (int i = 0; i < 1000; ++i) {
    std::string text(16, '\0');
    for (std::size_t j = 0; j < 8; ++j) text[8 + j] = static_cast<char>(i >> j);
    hashes.insert(seeded_hash(text, secret));
  }
  EXPECT_GT(hashes.size(), 990U);
}

TEST(AtomHash, TablesDifferInTheirSecrets) {
  // Seen from outside: the same texts in the same order lie in other places, since shards fill differently.
  AtomTable a;
  AtomTable b;
  std::vector<Atom> kept;
  std::vector<std::uint32_t> order_a;
  std::vector<std::uint32_t> order_b;
  for (int i = 0; i < 64; ++i) {
    kept.push_back(a.intern(std::to_string(i)));
    order_a.push_back(kept.back().handle() - kept.front().handle());
  }
  const std::size_t second = kept.size();
  for (int i = 0; i < 64; ++i) {
    kept.push_back(b.intern(std::to_string(i)));
    order_b.push_back(kept.back().handle() - kept[second].handle());
  }
  EXPECT_NE(order_a, order_b);
}

}  // namespace
}  // namespace tare
