// Objects of this process, compared with its loader's answers, and lists that a process has damaged.
#include "core/injection/loaded_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/lib-names.h>
#include <gtest/gtest.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <set>

namespace tare::core {
namespace {

TEST(LoadedObjects, AreThoseOfTheLoader) {
  const std::optional<LoadedObjects> objects = LoadedObjects::of(::getpid());
  ASSERT_TRUE(objects.has_value());
  std::set<std::uint64_t> expected;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    static_cast<std::set<std::uint64_t>*>(to)->insert(info->dlpi_addr);
    return 0;
  };
  ::dl_iterate_phdr(add, &expected);
  std::set<std::uint64_t> listed;
  for (const LoadedObject& object : objects->all()) listed.insert(object.bias);
  EXPECT_EQ(listed, expected);
  ASSERT_NE(objects->loader(), nullptr);
  EXPECT_EQ(objects->loader()->soname, LD_SO);
}

TEST(LoadedObjects, FindFunctions) {
  const std::optional<LoadedObjects> objects = LoadedObjects::of(::getpid());
  ASSERT_TRUE(objects.has_value());
  for (const char* const name : {"gnu_get_libc_version", "dlopen", "__errno_location", "fork", "syscall"}) {
    const auto expected = reinterpret_cast<std::uint64_t>(::dlsym(RTLD_DEFAULT, name));
    EXPECT_EQ(objects->address_of(name), expected) << name;
  }
  const LoadedObject* const libc = objects->defining("gnu_get_libc_version");
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(libc->soname, LIBC_SO);
  EXPECT_EQ(objects->around(objects->address_of("gnu_get_libc_version")), libc);
  EXPECT_EQ(objects->address_of("no_function_has_this_name"), 0u);
  EXPECT_EQ(objects->address_of("environ"), 0u);  // a variable
  EXPECT_EQ(objects->around(8), nullptr);
}

TEST(LoadedObjects, OfNoProcessAreNone) { EXPECT_FALSE(LoadedObjects::of(-1).has_value()); }

// An executable and its loader's list in this process's memory.
struct Handmade {
  Elf64_Phdr segments[3] = {};
  Elf64_Dyn dynamic[6] = {};
  r_debug debug = {};
  link_map maps[3] = {};
  std::uint32_t hash[8] = {1, 1, 1, 0, 0, 0, 1, 0};  // 1 bucket, first symbol 1, 1 word of filter; bucket 0: symbol 1
  Elf64_Sym symbols[2] = {};
  char strings[16] = "\0odd";

  Handmade() {
    segments[0].p_type = PT_PHDR;
    segments[0].p_vaddr = address(segments);
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_vaddr = address(dynamic);
    segments[2].p_type = PT_LOAD;
    segments[2].p_vaddr = 0x1000;
    segments[2].p_memsz = 0x1000;
    dynamic[0] = {DT_DEBUG, {address(&debug)}};
    dynamic[1] = {DT_SYMTAB, {address(symbols)}};
    dynamic[2] = {DT_STRTAB, {address(strings)}};
    dynamic[3] = {DT_GNU_HASH, {address(hash)}};
    debug.r_map = &maps[0];
    symbols[1].st_name = 1;
    symbols[1].st_shndx = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_value = 0x1234;
    hash[7] = 193501276 | 1;  // of "odd": ((5381 * 33 + 'o') * 33 + 'd') * 33 + 'd', and the chain's end
  }
  static std::uint64_t address(const void* at) { return reinterpret_cast<std::uint64_t>(at); }
  std::optional<LoadedObjects> read(std::uint64_t count = 3, std::size_t most_reads = 1000) const {
    return LoadedObjects::of(::getpid(), {address(segments), count, 1, 0}, most_reads);
  }
};

TEST(LoadedObjects, AreReadFromMemory) {
  const Handmade made;
  const std::optional<LoadedObjects> objects = made.read();
  ASSERT_TRUE(objects.has_value());
  ASSERT_EQ(objects->all().size(), 1u);
  EXPECT_EQ(objects->all()[0].start, 0x1000u);
  EXPECT_EQ(objects->all()[0].end, 0x2000u);
  EXPECT_EQ(objects->address_of("odd"), 0x1234u);
  EXPECT_EQ(objects->address_of("even"), 0u);
  EXPECT_EQ(objects->loader(), nullptr);
}

TEST(LoadedObjects, AreReadByALimitedNumberOfReads) {
  const Handmade made;
  EXPECT_FALSE(made.read(3, 3).has_value());
  const std::optional<LoadedObjects> objects = made.read();
  ASSERT_TRUE(objects.has_value());
  int found = 0;
  while (objects->address_of("odd") != 0 && found < 1000) ++found;
  EXPECT_GT(found, 50);
  EXPECT_LT(found, 1000);
}

TEST(LoadedObjects, OfABrokenProgramAreNone) {
  Handmade made;
  EXPECT_FALSE(made.read(0).has_value());
  EXPECT_FALSE(made.read(1'000'000'000).has_value());
  made.debug.r_map = nullptr;
  EXPECT_FALSE(made.read().has_value());
  made.dynamic[0].d_un.d_ptr = 8;
  EXPECT_FALSE(made.read().has_value());
  made.segments[1].p_vaddr = 8;
  EXPECT_FALSE(made.read().has_value());
}

TEST(LoadedObjects, InACircleAreReadOnce) {
  Handmade made;
  const std::uint64_t loaded = ::getauxval(AT_SYSINFO_EHDR);
  made.maps[0].l_next = &made.maps[1];
  made.maps[1].l_next = &made.maps[2];
  made.maps[2].l_next = &made.maps[1];
  made.maps[1].l_addr = made.maps[2].l_addr = loaded;
  const std::optional<LoadedObjects> objects = made.read();
  ASSERT_TRUE(objects.has_value());
  EXPECT_EQ(objects->all().size(), loaded == 0 ? 1u : 3u);
}

TEST(LoadedObjects, WithBrokenTablesDefineNothing) {
  const auto defines = [](auto change) {
    Handmade made;
    change(made);
    return made.read()->address_of("odd") != 0;
  };
  EXPECT_TRUE(defines([](Handmade&) {}));
  EXPECT_FALSE(defines([](Handmade& made) { made.hash[0] = 0; }));    // no bucket
  EXPECT_FALSE(defines([](Handmade& made) { made.hash[2] = ~0u; }));  // the filter is larger than memory
  EXPECT_FALSE(defines([](Handmade& made) { made.hash[6] = 0; }));    // a symbol before the first
  EXPECT_FALSE(defines([](Handmade& made) { made.hash[6] = ~0u; }));  // one outside of memory
  EXPECT_FALSE(defines([](Handmade& made) { made.symbols[1].st_name = ~0u; }));
  EXPECT_FALSE(defines([](Handmade& made) { made.symbols[1].st_shndx = SHN_UNDEF; }));
  EXPECT_FALSE(defines([](Handmade& made) { made.dynamic[1].d_un.d_ptr = 8; }));
}

}  // namespace
}  // namespace tare::core
