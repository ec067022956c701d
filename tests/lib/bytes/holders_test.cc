// Which blocks are told of as held by one, and by several, where a recorder listens.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tare/bytes.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

using Told = std::vector<std::pair<const void*, bool>>;
Told told;

// Records the reports of its lifetime.
class Listening {
 public:
  Listening() {
    told.clear();
    bytes_details::report_sharing = [](const void* block, bool are_several) { told.emplace_back(block, are_several); };
  }
  ~Listening() { bytes_details::report_sharing = nullptr; }
};

TEST(Holders, OfABlockThatIsHandedOn) {
  const Listening listening;
  Bytes made = Bytes::copy_of_text("nobody else's");
  const void* const block = made.shared_header();
  const Bytes moved = std::move(made);
  EXPECT_EQ(told, (Told{{block, false}}));
}

TEST(Holders, OfABlockThatIsCopied) {
  const Listening listening;
  const Bytes made = Bytes::copy_of_text("shared");
  const void* const block = made.shared_header();
  const Bytes second = made;  // NOLINT(performance-unnecessary-copy-initialization)
  const Bytes third = made;   // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(told, (Told{{block, false}, {block, true}}));
}

TEST(Holders, OfASlice) {
  const Listening listening;
  const Bytes made = Bytes::copy(std::vector<char>(100, 'x').data(), 100);
  ASSERT_EQ(told.size(), 1u);
  const Bytes part = made.slice(10, 10);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1], std::pair(told[0].first, true));
}

TEST(Holders, OfABlockThatMallocGave) {
  const Listening listening;
  void* const block = std::malloc(100);
  std::memset(block, 'x', 100);
  const Bytes made = Bytes::adopt_malloced(block, 100);
  const Bytes second = made;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(told, (Told{{block, false}, {block, true}}));
}

TEST(Holders, OfAStreamsText) {
  const Listening listening;
  TextStream stream;
  stream.append(200, 'x');
  const Bytes taken = stream.take();
  EXPECT_EQ(told, (Told{{taken.shared_header(), false}}));
}

TEST(Holders, OfNothingThatIsntTheirs) {
  const Listening listening;
  const Bytes text = Bytes::of_static("for ever");
  const Bytes same = text;  // NOLINT(performance-unnecessary-copy-initialization)
  static char foreign[16];
  const Bytes adopted = Bytes::adopt(foreign, sizeof foreign, [](const void*, std::size_t, void*) {}, nullptr);
  const Bytes again = adopted;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(told, Told{});
}

}  // namespace
}  // namespace tare
