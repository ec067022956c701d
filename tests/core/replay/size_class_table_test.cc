// Table `size_classes` and the model that goes with a recorded allocator.
#include "core/replay/size_class_table.h"

#include <gtest/gtest.h>

#include "made_up_trace.h"

namespace tare::core {
namespace {

TEST(SizeClassTable, OneRowForEachRequestedSize) {
  MadeUpTrace made;
  std::uint64_t address = 0x10010;
  for (const std::uint64_t size : {1048578, 24, 4135, 24}) {
    address += 0x200000;
    made.alloc(address, made.shape(made.stack(address), size));
  }
  const Table table = size_classes_table(made.replay(), size_models::jemalloc_2011);
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_EQ(table["requested_bytes"].ints, (std::vector<std::int64_t>{24, 4135, 1048578}));
  EXPECT_EQ(table["usable_bytes"].ints, (std::vector<std::int64_t>{32, 8192, 2097152}));
  EXPECT_EQ(table["class_below_bytes"].ints, (std::vector<std::int64_t>{16, 4096, 1048576}));
  EXPECT_EQ(table["clownshoe"].ints, (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(table["class"].text(0), "small");
  EXPECT_EQ(table["class"].text(1), "large");
  EXPECT_EQ(table["class"].text(2), "huge");
}

TEST(SizeClassTable, TheRecordedAllocatorsModel) {
  MadeUpTrace made;
  EXPECT_EQ(model_of(made.replay()), &size_models::glibc);
  made.info.allocator = trace::AllocatorKind::Mimalloc;
  made.info.allocator_path = "/usr/lib/libmimalloc.so.2.0";
  EXPECT_EQ(model_of(made.replay()), &size_models::mimalloc2);
  made.info.allocator_path = "/usr/lib/libmimalloc.so.3.1";
  EXPECT_EQ(model_of(made.replay()), &size_models::mimalloc3);
  made.info.allocator = trace::AllocatorKind::Tcmalloc;
  EXPECT_EQ(model_of(made.replay()), &size_models::gperftools);
  made.info.allocator = trace::AllocatorKind::Unknown;
  EXPECT_EQ(model_of(made.replay()), nullptr);
}

}  // namespace
}  // namespace tare::core
