// The loader's facts about the object around an address, by both ways to ask for them.
#include "recorder/unwind/modules.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <cstdint>
#include <cstring>
#include <exception>

namespace tare::recorder {
namespace {

void own_function() {}

TEST(Modules, BothWaysToAskTheLoaderAgree) {
  for (const auto address :
       {reinterpret_cast<std::uint64_t>(&own_function), reinterpret_cast<std::uint64_t>(&std::strerror),
        reinterpret_cast<std::uint64_t>(&std::terminate), getauxval(AT_SYSINFO_EHDR)}) {
    if (address == 0) continue;  // no vdso, as under qemu
    LoadedObject found;
    LoadedObject visited;
    ASSERT_TRUE(find_loaded_object(address, found));
    ASSERT_TRUE(find_loaded_object_by_visiting(address, visited));
    EXPECT_EQ(found.load_bias, visited.load_bias);
    EXPECT_EQ(found.eh_frame_header, visited.eh_frame_header);
    EXPECT_EQ(found.dynamic, visited.dynamic);
    EXPECT_STREQ(found.name, visited.name);
    EXPECT_TRUE(found.start <= address && address < found.end);
  }
  LoadedObject none;
  EXPECT_FALSE(find_loaded_object(8, none));
  EXPECT_FALSE(find_loaded_object_by_visiting(8, none));
}

}  // namespace
}  // namespace tare::recorder
