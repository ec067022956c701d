// A random program beside a model of it: what the model reaches lives, with its contents, and after a precise
// collection nothing else does. Seeds are fixed; TARE_GC_SEEDS=N runs more of them.
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "heap_fixture.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/trace_std.h"

namespace tare::gc {
namespace {

using namespace testing;

int alive_with_destructor = 0;

struct Vertex : GarbageCollected<Vertex> {
  explicit Vertex(int n) : number(n) {}
  void trace(Visitor& visitor) const {
    for (const auto& edge : strong) visitor.trace(edge);
    visitor.trace(wide);
    visitor.trace(weak);
    visitor.trace_ephemeron(key, value);
    visitor.trace(maybe);
    visitor.trace(list);
    visitor.trace(by_vertex);
  }
  int number;
  Member<Vertex> strong[3];
  UncompressedMember<Vertex> wide;
  WeakMember<Vertex> weak;
  WeakMember<Vertex> key;
  Member<Vertex> value;
  std::optional<Member<Vertex>> maybe;
  HeapVector<Member<Vertex>> list;
  HeapHashMap<WeakMember<Vertex>, Member<Vertex>> by_vertex;
};

struct BigVertex : Vertex {
  explicit BigVertex(int n) : Vertex(n) {}
  char bytes[5000];
};

struct FinalVertex : Vertex {
  explicit FinalVertex(int n) : Vertex(n), copy(std::make_unique<int>(n)) { ++alive_with_destructor; }
  ~FinalVertex() { --alive_with_destructor; }
  std::unique_ptr<int> copy;
};

struct Model {
  int strong[3] = {-1, -1, -1};
  int wide = -1;
  int weak = -1;
  int key = -1;
  int value = -1;
  int maybe = -1;
  std::vector<int> list;
  std::map<int, int> by_vertex;
};

class RandomGraph : public HeapTest {
 protected:
  void run(unsigned seed, Marking marking) {
    HeapOptions options;
    options.marking = marking;
    options.pause_goal_ns = 0;
    options.least_growth_bytes = std::size_t{64} << 10;
    options.growth_percent = 50;
    remake(options);
    random_.seed(seed);
    model_.clear();
    roots_ = std::vector<Persistent<Vertex>>(20);
    root_numbers_.assign(20, -1);
    next_ = 0;
    for (int step = 0; step < 4000; ++step) {
      act();
      if (marking != Marking::AtOnce && pick(20) == 0) {
        heap_.collect_some(pick(4) * 1000, StackState::MayHoldPointers);
      }
      if (step % 500 == 499) check();
    }
    for (auto& root : roots_) root = nullptr;
    root_numbers_.assign(20, -1);
    check();
    heap_.finish_sweeping();
    EXPECT_EQ(live(), 0u);
    EXPECT_EQ(alive_with_destructor, 0);
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }

  Vertex* make_vertex() {
    const int number = next_++;
    model_[number] = {};
    switch (pick(6)) {
      case 0:
        return make_one<BigVertex>(number);
      case 1:
        return make_one<FinalVertex>(number);
      default:
        return make_one<Vertex>(number);
    }
  }

  // Some vertex that can be reached, by a walk from a root.
  Vertex* some() {
    Vertex* at = roots_[pick(roots_.size())].get();
    for (std::size_t steps = pick(8); at != nullptr && steps > 0; --steps) {
      Vertex* next = at->strong[pick(3)].get();
      if (next == nullptr) break;
      at = next;
    }
    return at;
  }

  [[gnu::noinline]] void act() {
    Vertex* from = some();
    Vertex* to = pick(3) == 0 ? some() : make_vertex();
    const int number = to == nullptr ? -1 : to->number;
    if (from == nullptr || pick(10) == 0) {
      const std::size_t root = pick(roots_.size());
      roots_[root] = to;
      root_numbers_[root] = number;
      return;
    }
    Model& model = model_[from->number];
    switch (pick(14)) {
      case 0:
        from->wide = to;
        model.wide = number;
        break;
      case 1:
        from->weak = to;
        model.weak = number;
        break;
      case 2: {
        Vertex* value = make_vertex();
        from->key = to;
        from->value = value;
        model.key = number;
        model.value = value->number;
        break;
      }
      case 3: {
        const std::size_t edge = pick(3);
        from->strong[edge] = nullptr;
        model.strong[edge] = -1;
        break;
      }
      case 4: {
        const std::size_t a = pick(3);
        const std::size_t b = pick(3);
        from->strong[a].swap(from->strong[b]);
        std::swap(model.strong[a], model.strong[b]);
        break;
      }
      case 5:
        from->maybe.reset();
        if (to != nullptr) from->maybe.emplace(to);
        model.maybe = number;
        break;
      case 6:
      case 7:
        if (model.list.size() == 20) {
          from->list.clear(heap_);
          model.list.clear();
        }
        ASSERT_TRUE(from->list.push_back(heap_, to));
        model.list.push_back(number);
        break;
      case 8:
        if (model.list.empty()) break;
        from->list.erase(0);
        model.list.erase(model.list.begin());
        break;
      case 9:
      case 10: {
        if (to == nullptr) break;
        Vertex* value = pick(2) == 0 ? from : make_vertex();
        ASSERT_TRUE(from->by_vertex.insert(heap_, to, value));
        model.by_vertex[number] = value->number;
        break;
      }
      default: {
        const std::size_t edge = pick(3);
        from->strong[edge] = to;
        model.strong[edge] = number;
        break;
      }
    }
  }

  std::set<int> reachable() const {
    std::set<int> seen;
    std::vector<int> open;
    const auto see = [&](int number) {
      if (number >= 0 && seen.insert(number).second) open.push_back(number);
    };
    for (const int root : root_numbers_) see(root);
    for (bool is_more = true; is_more;) {
      while (!open.empty()) {
        const Model& model = model_.at(open.back());
        open.pop_back();
        for (const int edge : model.strong) see(edge);
        see(model.wide);
        see(model.maybe);
        for (const int edge : model.list) see(edge);
      }
      for (const int number : std::set<int>(seen)) {
        const Model& model = model_.at(number);
        if (model.key >= 0 && seen.contains(model.key)) see(model.value);
        for (const auto& [key, value] : model.by_vertex) {
          if (seen.contains(key)) see(value);
        }
      }
      is_more = !open.empty();
    }
    return seen;
  }

  // Without the arrays behind their containers.
  std::size_t vertices() {
    heap_.finish_sweeping();
    std::size_t sum = 0;
    heap_.for_each_type([&](const TypeUse& type) { sum += type.name.ends_with("Vertex") ? type.objects : 0; });
    return sum;
  }

  void check() {
    collect();
    const std::set<int> expected = reachable();
    ASSERT_EQ(vertices(), expected.size());
    for (auto entry = model_.begin(); entry != model_.end();) {
      entry = expected.contains(entry->first) ? std::next(entry) : model_.erase(entry);
    }
    std::map<int, Vertex*> found;
    const auto visit = [&](auto&& self, Vertex* vertex) -> void {
      if (vertex == nullptr || !found.emplace(vertex->number, vertex).second) return;
      for (const auto& edge : vertex->strong) self(self, edge.get());
      self(self, vertex->wide.get());
      if (vertex->key) self(self, vertex->value.get());
      if (vertex->maybe) self(self, vertex->maybe->get());
      for (const auto& edge : vertex->list) self(self, edge.get());
      vertex->by_vertex.for_each([&](Vertex*, const Member<Vertex>& value) { self(self, value.get()); });
    };
    for (const auto& root : roots_) visit(visit, root.get());
    for (auto& [number, model] : model_) {
      ASSERT_TRUE(found.contains(number));
      const Vertex* vertex = found.at(number);
      const auto same = [&](const Vertex* object, int wanted) {
        ASSERT_EQ(object == nullptr ? -1 : object->number, wanted);
      };
      for (int i = 0; i < 3; ++i) same(vertex->strong[i].get(), model.strong[i]);
      same(vertex->wide.get(), model.wide);
      if (model.weak >= 0 && !expected.contains(model.weak)) model.weak = -1;
      if (model.key >= 0 && !expected.contains(model.key)) model.key = -1;
      same(vertex->weak.get(), model.weak);
      same(vertex->key.get(), model.key);
      same(vertex->maybe ? vertex->maybe->get() : nullptr, model.maybe);
      ASSERT_EQ(vertex->list.size(), model.list.size());
      for (std::size_t i = 0; i < model.list.size(); ++i) same(vertex->list[i].get(), model.list[i]);
      std::erase_if(model.by_vertex, [&](const auto& pair) { return !expected.contains(pair.first); });
      ASSERT_EQ(vertex->by_vertex.size(), model.by_vertex.size());
      vertex->by_vertex.for_each([&](Vertex* key, const Member<Vertex>& value) {
        ASSERT_TRUE(model.by_vertex.contains(key->number));
        same(value.get(), model.by_vertex.at(key->number));
      });
    }
  }

  std::mt19937 random_;
  std::map<int, Model> model_;
  std::vector<Persistent<Vertex>> roots_;
  std::vector<int> root_numbers_;
  int next_ = 0;

 protected:
  void run_seeds(Marking marking) {
    const char* more = std::getenv("TARE_GC_SEEDS");
    const unsigned seeds = more == nullptr ? 10 : static_cast<unsigned>(std::atoi(more));
    for (unsigned seed = 1; seed <= seeds && !HasFatalFailure(); ++seed) {
      SCOPED_TRACE(seed);
      run(seed, marking);
    }
  }
};

TEST_F(RandomGraph, AgreesWithTheModel) { run_seeds(Marking::AtOnce); }
TEST_F(RandomGraph, AgreesWithTheModelWhileItIsMarked) { run_seeds(Marking::Incremental); }
TEST_F(RandomGraph, AgreesWithTheModelWhileAnotherThreadMarks) { run_seeds(Marking::Concurrent); }

}  // namespace
}  // namespace tare::gc
