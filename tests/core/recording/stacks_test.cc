// Stacks as texts and as trees: order of frames, wrappers inlined into the innermost row, shared callers, damaged
// nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/recording/stacks/frame_tree.h"
#include "core/recording/stacks/large_branches.h"
#include "core/recording/stacks/stack_texts.h"
#include "core/recording/stacks/text_rows.h"
#include "core/recording/stacks/tree_texts.h"

namespace tare::core {
namespace {

using trace::RowId;
using trace::StackId;
using trace::StackNode;

// 1: main; 2: main > parse; 3: main > parse > grow; 4: main > grow; 5: its own caller, as in a damaged trace
const std::vector<StackNode> kNodes = {{trace::kEmptyStack, RowId{0}}, {trace::kEmptyStack, RowId{0}},
                                       {StackId{1}, RowId{1}},         {StackId{2}, RowId{2}},
                                       {StackId{1}, RowId{2}},         {StackId{5}, RowId{1}}};

std::string text(StackOrder order, StackId stack) {
  StackTexts texts(kNodes, order, ";");
  texts.name(RowId{0}, "main", "main");
  texts.name(RowId{1}, "parse", "parse");
  texts.name(RowId{2}, "inlined;grow", "grow");
  std::string found = "what was there before";
  texts.write(stack, found);
  return found;
}

TEST(StackTexts, JoinsRowsInEitherOrder) {
  EXPECT_EQ(text(StackOrder::OutermostFirst, StackId{3}), "main;parse;grow");
  EXPECT_EQ(text(StackOrder::InnermostFirst, StackId{3}), "grow;parse;main");
  EXPECT_EQ(text(StackOrder::OutermostFirst, StackId{1}), "main");
}

TEST(StackTexts, OfNoStack) {
  EXPECT_EQ(text(StackOrder::OutermostFirst, StackId{0}), "");
  EXPECT_EQ(text(StackOrder::OutermostFirst, StackId{99}), "");
  EXPECT_EQ(text(StackOrder::OutermostFirst, StackId{5}), "parse");
}

TEST(RowsOfStacks, AreFoundOnce) {
  const std::vector<StackId> stacks = {StackId{3}, StackId{4}, StackId{5}, StackId{99}};
  EXPECT_EQ(rows_of_stacks(kNodes, stacks), (std::vector{RowId{0}, RowId{1}, RowId{2}}));
  EXPECT_EQ(rows_of_stacks(kNodes, std::vector{StackId{1}}), std::vector{RowId{0}});
}

FrameTree tree(StackOrder order) {
  FrameTree made(kNodes, order);
  made.name(RowId{0}, {10}, {10});
  made.name(RowId{1}, {11}, {11});
  made.name(RowId{2}, {13, 12}, {12});  // 13 is inlined into 12; a wrapper, if it is innermost
  return made;
}

template <typename List>
std::vector<std::uint32_t> numbers(const List& list) {
  return {list.begin(), list.end()};
}

TEST(FrameTree, FromTheOutermostCall) {
  FrameTree made = tree(StackOrder::OutermostFirst);
  const std::uint32_t deep = made.add(StackId{3}, 5);
  const std::uint32_t direct = made.add(StackId{4}, 7);
  EXPECT_EQ(made.add(StackId{3}, 1), deep);
  made.add(StackId{2}, 100);
  made.add(StackId{0}, 1000);
  EXPECT_EQ(numbers(made.frames()), (std::vector<std::uint32_t>{0, 10, 11, 12, 12}));
  EXPECT_EQ(numbers(made.parents()), (std::vector<std::uint32_t>{0, 0, 1, 2, 1}));
  EXPECT_EQ(made.amounts()[deep], 6);
  EXPECT_EQ(made.amounts()[direct], 7);
  EXPECT_EQ(made.whole_amounts(), (std::vector<std::int64_t>{1113, 113, 106, 6, 7}));
  EXPECT_EQ(made.depth_first(), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(FrameTree, FromTheInnermostCall) {
  FrameTree made = tree(StackOrder::InnermostFirst);
  made.add(StackId{3}, 5);
  made.add(StackId{2}, 7);
  made.add(StackId{4}, 1);
  EXPECT_EQ(numbers(made.frames()), (std::vector<std::uint32_t>{0, 12, 11, 10, 11, 10, 10}));
  EXPECT_EQ(made.depth_first(), (std::vector<std::uint32_t>{0, 1, 2, 3, 6, 4, 5}));
  EXPECT_EQ(made.whole_amounts()[1], 6);
}

TEST(FrameTree, InlinedFramesBelowTheInnermostRowStay) {
  FrameTree made(kNodes, StackOrder::OutermostFirst);
  made.name(RowId{0}, {21, 20}, {20});
  made.name(RowId{1}, {11}, {11});
  made.add(StackId{2}, 1);
  EXPECT_EQ(numbers(made.frames()), (std::vector<std::uint32_t>{0, 20, 21, 11}));
}

std::vector<std::string> names() {
  std::vector<std::string> found(14);
  found[10] = "main";
  found[11] = "parse";
  found[12] = "grow";
  return found;
}

TEST(TreeTexts, FoldedStacksHaveALineForEachAmount) {
  FrameTree made = tree(StackOrder::OutermostFirst);
  made.add(StackId{3}, 5);
  made.add(StackId{4}, 7);
  made.add(StackId{1}, -1);
  std::string text;
  const TextSink sink = [&](std::string_view piece) { text += piece; };
  write_folded(made, names(), "(unknown)", sink);
  EXPECT_EQ(text, "main -1\nmain;parse;grow 5\nmain;grow 7\n");
  text.clear();
  made.add(StackId{0}, 2);
  write_folded(made, {}, "(unknown)", sink);
  EXPECT_EQ(text, "(unknown) 2\n(unknown) -1\n;; 5\n; 7\n") << "frames without a name keep their place";
}

TEST(TreeTexts, NestedNodesAreClosed) {
  FrameTree made = tree(StackOrder::OutermostFirst);
  made.add(StackId{3}, 5);
  made.add(StackId{4}, 7);
  std::string text;
  write_nested(made, names(), "root", [&](std::string_view piece) { text += piece; });
  const auto node = [](const std::string& head, int own, int id, const std::string& below) {
    return head + ",\"selfSize\":" + std::to_string(own) + ",\"id\":" + std::to_string(id) + ",\"children\":[" + below +
           "]}";
  };
  const std::string parse = node("parse", 0, 3, node("grow", 5, 4, ""));
  EXPECT_EQ(text, node("root", 0, 1, node("main", 0, 2, parse + "," + node("grow", 7, 5, ""))));
}

TEST(TreeTexts, LargeTreesComeInPieces) {
  FrameTree made = tree(StackOrder::OutermostFirst);
  made.add(StackId{3}, 5);
  made.add(StackId{4}, 7);
  std::vector<std::string> large = names();
  large[10] = std::string(1 << 20, 'm');
  std::size_t pieces = 0;
  std::size_t bytes = 0;
  write_folded(made, large, "", [&](std::string_view piece) {
    ++pieces;
    bytes += piece.size();
  });
  EXPECT_EQ(pieces, 2u);
  EXPECT_EQ(bytes, 2 * large[10].size() + std::string(";parse;grow 5\n;grow 7\n").size());
}

// From the whole tree, as large_branches() promises.
std::vector<Branch> branches_of(const FrameTree& made, std::int64_t least) {
  const std::vector<std::int64_t> whole = made.whole_amounts();
  std::vector<Branch> found;
  std::vector<std::uint32_t> place_of(whole.size(), 0);
  std::vector<std::uint32_t> level = {FrameTree::kRoot};
  const auto put = [&](std::uint32_t node) {
    place_of[node] = static_cast<std::uint32_t>(found.size());
    found.push_back({whole[node], 0, place_of[made.parents()[node]], made.frames()[node], 0, 0});
  };
  put(FrameTree::kRoot);
  while (!level.empty()) {
    std::vector<std::uint32_t> below;
    for (std::uint32_t node = 1; node < whole.size(); ++node) {
      const std::uint32_t parent = made.parents()[node];
      if (std::ranges::find(level, parent) == level.end()) continue;
      if (whole[node] >= least) {
        put(node);
        below.push_back(node);
      } else {
        found[place_of[parent]].small_amount += whole[node];
        ++found[place_of[parent]].small_branches;
      }
    }
    level = below;
  }
  return found;
}

TEST(LargeBranches, AreThoseOfTheTree) {
  std::mt19937 random(7);
  std::vector<StackNode> nodes = {{trace::kEmptyStack, RowId{0}}};
  for (std::uint32_t id = 1; id < 400; ++id)
    nodes.push_back({StackId{static_cast<std::uint32_t>(random() % std::min(id, 20u))},
                     RowId{static_cast<std::uint32_t>(random() % 6)}});
  nodes[300].caller = StackId{300};  // as in a damaged trace
  FrameTree made(nodes, StackOrder::InnermostFirst);
  for (std::uint32_t row = 0; row < 5; ++row) {  // row 5 has no name
    std::vector<std::uint32_t> frames(row % 3, row);
    if (!frames.empty()) frames.push_back(9);
    made.name(RowId{row}, frames, {row + 3});
  }
  const FrameTree names = made;
  std::vector<StackId> stacks;
  std::vector<std::int64_t> amounts;
  for (std::uint32_t id = 0; id < 410; ++id) {
    stacks.push_back(StackId{id});
    amounts.push_back(static_cast<std::int64_t>(random() % 100));
    made.add(stacks.back(), amounts.back());
  }
  std::size_t most = 0;
  for (const std::int64_t least : {1, 100, 500, 3000, 1'000'000}) {
    const std::vector<Branch> expected = branches_of(made, least);
    const std::vector<Branch> found = large_branches(names, stacks, amounts, least);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].amount, expected[i].amount);
      EXPECT_EQ(found[i].small_amount, expected[i].small_amount);
      EXPECT_EQ(found[i].small_branches, expected[i].small_branches);
      EXPECT_EQ(found[i].frame, expected[i].frame);
      EXPECT_EQ(found[i].parent, expected[i].parent);
    }
    most = std::max(most, found.size());
  }
  EXPECT_GT(most, 50u);
}

StackTexts named_texts() {
  StackTexts texts(kNodes, StackOrder::OutermostFirst, ";");
  texts.name(RowId{0}, "main", "main");
  texts.name(RowId{1}, "parse", "parse");
  texts.name(RowId{2}, "parse", "parse");
  return texts;
}

TEST(TextRows, StacksOfOneTextAreFound) {
  const std::vector<StackId> stacks = {StackId{1}, StackId{2}, StackId{3}, StackId{4}, StackId{2}};
  std::vector<StackId> firsts;
  // 2 and 4 are both main;parse
  EXPECT_EQ(distinct_texts(named_texts(), stacks, firsts), (std::vector<std::uint32_t>{0, 1, 2, 1, 1}));
  EXPECT_EQ(firsts, (std::vector{StackId{1}, StackId{2}, StackId{3}}));
}

TEST(TextRows, HaveNumbersRestAndText) {
  const std::vector<StackId> stacks = {StackId{1}, StackId{2}};
  const std::vector<std::int64_t> first = {1, -2};
  const std::vector<std::int64_t> second = {30, 40};
  const std::vector<std::string> rests = {",r", ",s"};
  std::string text;
  const TextSink sink = [&](std::string_view piece) { text += piece; };
  write_rows(named_texts(), stacks, {{{"{a:", first}, {",b:", second}}, rests, ",t:", "}"}, sink);
  EXPECT_EQ(text, "{a:1,b:30,r,t:main},{a:-2,b:40,s,t:main;parse}");
  text.clear();
  write_rows(named_texts(), stacks, {{}, {}, "[", "]"}, sink);
  EXPECT_EQ(text, "[main],[main;parse]");
}

TEST(TextRows, NumbersMayBeNull) {
  const std::vector<std::int64_t> numbers = {0, 5, -1};
  std::string text;
  const TextSink sink = [&](std::string_view piece) { text += piece; };
  write_numbers(numbers, 0, -1, sink);
  EXPECT_EQ(text, "null,4,-2");
}

TEST(FrameTree, Empty) {
  const FrameTree made(kNodes, StackOrder::OutermostFirst);
  EXPECT_EQ(made.depth_first(), std::vector<std::uint32_t>{0});
  EXPECT_EQ(made.whole_amounts(), std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace tare::core
