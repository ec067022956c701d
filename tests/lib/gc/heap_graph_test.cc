#include "tare/gc/heap_graph.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "heap_fixture.h"
#include "tare/gc/cross_thread_persistent.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/located_persistent.h"

namespace tare::gc {
namespace {

using namespace testing;

// A second reader, as the header's words say.
struct Graph {
  std::vector<std::uint32_t> types, granules, roots, edge_ends, edges;
  std::vector<std::uint64_t> bytes;
  std::vector<std::string> names;
  std::vector<std::uint32_t> place_of;
  std::vector<std::string> places;  // FILE:LINE FUNCTION

  // Bytes that roots of this file's line keep alive.
  std::multiset<std::string> kept_from(std::uint32_t line) const {
    std::multiset<std::string> found;
    const std::string wanted = "heap_graph_test.cc:" + std::to_string(line) + " ";
    for (std::size_t i = 0; i < place_of.size(); ++i) {
      if (place_of[i] == 0xffff'ffff || places[place_of[i]].find(wanted) == std::string::npos) continue;
      found.insert(names[types[roots[i] & 0x7fff'ffff]]);
    }
    return found;
  }

  std::multiset<std::string> targets(std::size_t node) const {
    std::multiset<std::string> found;
    for (std::size_t i = node == 0 ? 0 : edge_ends[node - 1]; i < edge_ends[node]; ++i)
      found.insert(names[types[edges[i]]]);
    return found;
  }
  std::vector<std::size_t> nodes_of(const std::string& name) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (names[types[i]] == name) found.push_back(i);
    }
    return found;
  }
};

template <class T>
std::vector<T> read(std::istream& file, std::size_t count) {
  std::vector<T> values(count);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

Graph read_graph(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Graph graph;
  EXPECT_EQ(std::string(read<char>(file, 8).data(), 8), "TAREGCG1");
  const auto counts = read<std::uint64_t>(file, 7);
  graph.types = read<std::uint32_t>(file, counts[0]);
  graph.granules = read<std::uint32_t>(file, counts[0]);
  graph.bytes = read<std::uint64_t>(file, counts[0]);
  const auto name_ends = read<std::uint32_t>(file, counts[3]);
  const auto names = read<char>(file, counts[4]);
  std::size_t begin = 0;
  for (const std::uint32_t end : name_ends) {
    graph.names.emplace_back(names.data() + begin, end - begin);
    begin = end;
  }
  read<char>(file, (8 - (counts[4] + 4 * counts[3]) % 8) % 8);
  graph.roots = read<std::uint32_t>(file, counts[2]);
  graph.edge_ends = read<std::uint32_t>(file, counts[0]);
  graph.edges = read<std::uint32_t>(file, counts[1]);
  if (counts[6] != 0) {
    graph.place_of = read<std::uint32_t>(file, counts[2]);
    const auto lines = read<std::uint32_t>(file, counts[6]);
    const auto text_ends = read<std::uint32_t>(file, 2 * counts[6]);
    for (std::size_t i = 0, at = 0; i < text_ends.size(); i += 2) {
      const auto take = [&](std::size_t end) {
        const auto text = read<char>(file, end - at);
        at = end;
        return std::string(text.data(), text.size());
      };
      const std::string file_name = take(text_ends[i]);
      graph.places.push_back(file_name + ":" + std::to_string(lines[i / 2]) + " " + take(text_ends[i + 1]));
    }
  }
  EXPECT_TRUE(file.good()) << "shorter than its header says";
  EXPECT_EQ(file.peek(), std::char_traits<char>::eof());
  return graph;
}

struct GraphListener : GarbageCollectedMixin {
  int heard = 0;
};
struct Key : GarbageCollected<Key>, GraphListener {
  static constexpr std::string_view kGcName = "Key";
  void trace(Visitor&) const {}
};
struct GraphLeaf : GarbageCollected<GraphLeaf> {
  static constexpr std::string_view kGcName = "GraphLeaf";
  void trace(Visitor&) const {}
};
struct Top : GarbageCollected<Top> {
  static constexpr std::string_view kGcName = "Top";
  void trace(Visitor& visitor) const {
    visitor.trace(twice[0]);
    visitor.trace(twice[1]);
    visitor.trace(listener);
    visitor.trace(weak);
    visitor.trace(notes);
  }
  Member<GraphLeaf> twice[2];
  Member<GraphListener> listener;  // points into a Key
  WeakMember<GraphLeaf> weak;
  HeapHashMap<WeakMember<Key>, Member<GraphLeaf>> notes;
};

class HeapGraphs : public HeapTest {
 protected:
  ~HeapGraphs() override { std::filesystem::remove(path_); }
  Graph take() {
    EXPECT_EQ(write_graph(heap_, path_.c_str(), StackState::HoldsNone), GraphError::None);
    return read_graph(path_);
  }
  std::string path_ = ::testing::TempDir() + "heap_graph_test." + std::to_string(::getpid()) + ".tgg";
};

TEST_F(HeapGraphs, HaveObjectsEdgesAndRoots) {
  Persistent<Top> top = make_one<Top>();
  top->twice[0] = top->twice[1] = make_one<GraphLeaf>();
  Key* key = make_one<Key>();
  top->listener = key;
  CrossThreadPersistent<GraphLeaf> far = make_one<GraphLeaf>();
  top->weak = far.get();
  ASSERT_TRUE(top->notes.insert(heap_, key, make_one<GraphLeaf>()));  // lives by an ephemeron
  make_one<GraphLeaf>();                                              // dies first

  const Graph graph = take();
  ASSERT_EQ(graph.types.size(), 6u);  // Top, Key, three Leaves, the table's array
  ASSERT_EQ(graph.nodes_of("GraphLeaf").size(), 3u);
  EXPECT_TRUE(std::is_sorted(graph.granules.begin(), graph.granules.end()));
  const std::size_t top_node = graph.nodes_of("Top").at(0);
  const std::size_t key_node = graph.nodes_of("Key").at(0);
  const std::multiset<std::string> of_top = graph.targets(top_node);
  EXPECT_EQ(of_top.size(), 4u);  // without the weak one
  EXPECT_EQ(of_top.count("GraphLeaf"), 2u);
  EXPECT_EQ(of_top.count("Key"), 1u);
  EXPECT_EQ(graph.targets(key_node), (std::multiset<std::string>{"GraphLeaf"}));
  EXPECT_EQ(graph.bytes[graph.nodes_of("GraphLeaf").at(0)], 16u);  // 1 byte of object, 4 of header
  std::multiset<std::string> roots, far_roots;
  for (const std::uint32_t root : graph.roots) {
    ((root >> 31) != 0 ? far_roots : roots).insert(graph.names[graph.types[root & 0x7fff'ffff]]);
  }
  EXPECT_EQ(roots, (std::multiset<std::string>{"Top"}));
  EXPECT_EQ(far_roots, (std::multiset<std::string>{"GraphLeaf"}));
}

// One line for each root.
TEST_F(HeapGraphs, SayWhereLocatedRootsWereMade) {
  std::uint32_t line = __LINE__;
  LocatedPersistent<Top> top = make_one<Top>();                          // line + 1
  LocatedPersistent<GraphLeaf> assigned;                                 // + 2
  assigned = make_one<GraphLeaf>();                                      // + 3
  LocatedCrossThreadPersistent<Key> far = make_one<Key>();               // + 4
  std::vector<LocatedPersistent<GraphLeaf>> several;                     // + 5
  for (int i = 0; i < 5; ++i) several.push_back(make_one<GraphLeaf>());  // + 6
  const Persistent<GraphLeaf> silent = make_one<GraphLeaf>();

  Graph graph = take();
  EXPECT_EQ(graph.roots.size(), 9u);
  EXPECT_EQ(graph.places.size(), 4u);
  EXPECT_EQ(graph.kept_from(line + 1), std::multiset<std::string>{"Top"});
  EXPECT_EQ(graph.kept_from(line + 2).size(), 0u);
  EXPECT_EQ(graph.kept_from(line + 3), std::multiset<std::string>{"GraphLeaf"});
  EXPECT_EQ(graph.kept_from(line + 4), std::multiset<std::string>{"Key"});
  EXPECT_EQ(graph.kept_from(line + 6).size(), 5u);
  EXPECT_NE(graph.places[graph.place_of[1]].find("SayWhereLocatedRootsWereMade"), std::string::npos);

  several.clear();
  top.clear();
  far.clear();
  assigned = nullptr;
  EXPECT_TRUE(take().places.empty());
}

TEST_F(HeapGraphs, OfLargeHeapsAreComplete) {
  RootedVector<Member<Knot>> all;
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(all.push_back(heap_, make_one<Knot>(i)));
  for (int i = 0; i < kCount; ++i) {
    all[i]->left = all[(i + 1) % kCount];
    all[i]->up = all[0];
  }
  const Graph graph = take();
  EXPECT_EQ(graph.types.size(), kCount + 1u);
  EXPECT_EQ(graph.edges.size(), 3u * kCount);  // two each, and the array's
  EXPECT_EQ(heap_.use().live_objects, kCount + 1u);
}

TEST_F(HeapGraphs, OfAnEmptyHeapHaveNothing) {
  const Graph graph = take();
  EXPECT_TRUE(graph.types.empty());
  EXPECT_TRUE(graph.edges.empty());
}

TEST_F(HeapGraphs, FailWithAReason) {
  EXPECT_EQ(write_graph(heap_, "/nowhere/at/all.tgg", StackState::HoldsNone), GraphError::CannotOpen);
  EXPECT_EQ(write_graph(heap_, "/dev/full", StackState::HoldsNone), GraphError::CannotWrite);
  const NoCollectionScope scope(heap_);
  EXPECT_EQ(write_graph(heap_, path_.c_str(), StackState::HoldsNone), GraphError::CannotCollect);
  EXPECT_STREQ(describe(GraphError::CannotCollect), "the heap can't be collected now, which a snapshot begins with");
}

}  // namespace
}  // namespace tare::gc
