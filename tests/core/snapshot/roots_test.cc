#include "core/snapshot/roots.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

MappedRange mapped(std::uint64_t start, std::uint64_t end, const char* name = "", bool writable = true) {
  return {{start, end}, true, writable, false, false, 0, name};
}

LiveBlock block(std::uint64_t address) {
  LiveBlock one;
  one.address = address;
  one.usable_bytes = 24;
  return one;
}

class Roots : public ::testing::Test {
 protected:
  std::vector<MappedRange> map;
  std::vector<ThreadState> threads;
  std::vector<LiveBlock> blocks;
  std::vector<AddressRange> program;
  RootFacts facts() {
    return {map, threads, blocks, program, HeapKnowledge::Whole, false, "/lib/libtare-record.so", "/dev/shm/tare-1"};
  }
};

TEST_F(Roots, GlobalsAreRootsCodeAndTheRecorderAreNot) {
  map = {mapped(0x1000, 0x2000, "/bin/app", false),        mapped(0x2000, 0x3000, "/bin/app"),
         mapped(0x4000, 0x5000, "/lib/libtare-record.so"), mapped(0x6000, 0x7000, "/dev/shm/tare-1/1.0.spool"),
         mapped(0x8000, 0x9000, "/dev/dri/card0"),         mapped(0xa000, 0xb000, "/dev/shm/own")};
  EXPECT_EQ(find_roots(facts()), (std::vector<AddressRange>{{0x2000, 0x3000}, {0xa000, 0xb000}}));
}

TEST_F(Roots, OfAStackWhatIsInUse) {
  map = {mapped(0x10000, 0x20000, "[stack]"), mapped(0x30000, 0x50000)};
  ThreadState main;
  main.stack_pointer = 0x1f000;
  ThreadState other;
  other.stack_pointer = 0x44000;
  other.thread_pointer = 0x4f000;
  threads = {main, other};
  EXPECT_EQ(find_roots(facts()), (std::vector<AddressRange>{{0x1f000 - 128, 0x20000}, {0x44000 - 128, 0x50000}}));
}

TEST_F(Roots, OfTheHeapOnlyWhatTheProgramMappedItself) {
  map = {mapped(0x10000, 0x20000, "[heap]"), mapped(0x30000, 0x60000), mapped(0x70000, 0x80000)};
  blocks = {block(0x10010), block(0x31000)};
  program = {{0x50000, 0x58000}};  // the kernel made one mapping of malloc's and this one
  EXPECT_EQ(find_roots(facts()), (std::vector<AddressRange>{{0x50000, 0x58000}, {0x70000, 0x80000}}));
  RootFacts other_allocator = facts();
  other_allocator.allocator_maps_through_hooks = true;  // then it is malloc's, too
  EXPECT_EQ(find_roots(other_allocator), (std::vector<AddressRange>{{0x70000, 0x80000}}));
}

TEST_F(Roots, InAForkedChildAnythingMayBeABlockOfTheParent) {
  map = {mapped(0x10000, 0x20000, "[heap]")};
  blocks = {block(0x10010)};
  RootFacts child = facts();
  child.heap = HeapKnowledge::Partly;
  EXPECT_EQ(find_roots(child), (std::vector<AddressRange>{{0x10000, 0x20000}}));
}

TEST_F(Roots, ThreadLocalStorageInsideTheHeapsMapping) {
  map = {mapped(0x10000, 0x20000)};
  blocks = {block(0x10010)};
  ThreadState main;
  main.thread_pointer = 0x18000;
  threads = {main};
  EXPECT_EQ(find_roots(facts()), (std::vector<AddressRange>{{0x17000, 0x19000}}));
}

}  // namespace
}  // namespace tare::core
