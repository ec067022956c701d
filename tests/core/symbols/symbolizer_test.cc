// Real return addresses of this very program, and the promises of the API.
#include "core/symbols/symbolizer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>

#include <fstream>
#include <set>

#include "support.h"

#define LINE_HERE static_cast<std::uint32_t>(__LINE__)

namespace tare::core {
namespace {

using namespace testing;

std::uint64_t captured;
__attribute__((noinline)) int capture() {
  captured = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  asm volatile("" ::: "memory");
  return 1;
}

std::uint32_t inner_line;
std::uint32_t outer_line;
__attribute__((always_inline)) inline int inner_call() {
  inner_line = LINE_HERE + 1;
  const int one = capture();
  asm volatile("" ::: "memory");
  return one;
}

trace::Module own_module() {
  trace::Module module = module_of("/proc/self/exe");
  module.path = std::filesystem::canonical("/proc/self/exe").string();
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* bias) {
        *static_cast<std::uint64_t*>(bias) = info->dlpi_addr;
        return 1;
      },
      &module.load_bias);
  return module;
}

}  // namespace

// Not unnamed: their mangled names are part of the test.
namespace symbolizer_test {
__attribute__((noinline)) int outer_function(int seed) {
  outer_line = LINE_HERE + 1;
  const int one = inner_call();
  asm volatile("" ::: "memory");
  return one + seed;
}
__attribute__((noinline)) static int static_function() {
  const int one = capture();
  asm volatile("" ::: "memory");
  return one;
}
}  // namespace symbolizer_test

namespace {

TEST(Symbolizer, InlinedCallsInnermostFirst) {
  symbolizer_test::outer_function(1);
  Symbolizer symbolizer(without_cache());
  const std::vector<Frame> stack = symbolizer.resolve(own_module(), captured);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0].kind, FrameKind::Inlined);
  EXPECT_NE(stack[0].function.find("inner_call"), std::string::npos) << stack[0].function;
  EXPECT_EQ(stack[0].line, inner_line);
  EXPECT_EQ(stack[1].kind, FrameKind::Physical);
  EXPECT_EQ(stack[1].linkage_name, "_ZN4tare4core15symbolizer_test14outer_functionEi");
  EXPECT_EQ(stack[1].function, "tare::core::symbolizer_test::outer_function(int)");
  EXPECT_EQ(stack[1].line, outer_line);
  for (const Frame& frame : stack) {
    EXPECT_TRUE(frame.file.ends_with("tests/core/symbols/symbolizer_test.cc")) << frame.file;
    EXPECT_EQ(frame.file[0], '/');
  }
}

TEST(Symbolizer, StaticFunctionsHaveFullNames) {
  symbolizer_test::static_function();
  Symbolizer symbolizer(without_cache());
  const std::vector<Frame> stack = symbolizer.resolve(own_module(), captured);
  EXPECT_EQ(stack.back().function, "tare::core::symbolizer_test::static_function()");
}

TEST(Symbolizer, InlinesCanBeHidden) {
  symbolizer_test::outer_function(1);
  SymbolizerOptions options = without_cache();
  options.inlines = Inlines::Hide;
  Symbolizer symbolizer(options);
  const std::vector<Frame> stack = symbolizer.resolve(own_module(), captured);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0].function, "tare::core::symbolizer_test::outer_function(int)");
  EXPECT_EQ(stack[0].line, outer_line);
}

TEST(Symbolizer, BatchEqualsOneByOne) {
  for (const char* name : {"dwarf5", "dwarf4", "compressed", "sections"}) {
    const auto addresses = returning_to(function_addresses(fixture(name), 200));
    Symbolizer batch(without_cache());
    Symbolizer single(without_cache());
    const auto stacks = batch.resolve(module_of(fixture(name)), addresses);
    ASSERT_EQ(stacks.size(), addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      EXPECT_EQ(stacks[i], single.resolve(module_of(fixture(name)), addresses[i]));
    }
  }
}

TEST(Symbolizer, CheapTierNamesAsTheFullOne) {
  for (const char* name : {"dwarf5", "dwarf4", "compressed", "sections"}) {
    const trace::Module module = module_of(fixture(name));
    const auto addresses = returning_to(function_addresses(fixture(name), 500));
    ASSERT_FALSE(addresses.empty());
    Symbolizer symbolizer(without_cache());
    const auto names = symbolizer.function_names(module, addresses);
    const auto stacks = symbolizer.resolve(module, addresses);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      EXPECT_FALSE(names[i].function.empty());
      EXPECT_EQ(names[i].linkage_name, stacks[i].back().linkage_name);
      EXPECT_EQ(names[i].function, stacks[i].back().function);
      EXPECT_EQ(names[i].clone, stacks[i].back().clone);
    }
  }
}

TEST(Symbolizer, LoadBiasIsTakenOff) {
  trace::Module module = module_of(fixture("dwarf5"));
  const std::uint64_t address = function_addresses(fixture("dwarf5"), 1).front();
  Symbolizer symbolizer(without_cache());
  const auto at_zero = symbolizer.resolve(module, address + 1);
  module.load_bias = 0x7f0000000000;
  EXPECT_EQ(symbolizer.resolve(module, module.load_bias + address + 1), at_zero);
  EXPECT_EQ(symbolizer.resolve(module, address + 1), std::vector<Frame>{Frame{}})
      << "below the module: nothing is known";
  EXPECT_EQ(symbolizer.resolve(module, 0), std::vector<Frame>{Frame{}});
}

TEST(Symbolizer, OutsideEveryFunctionIsUnknown) {
  const trace::Module module = module_of(fixture("dwarf5"));
  Symbolizer symbolizer(without_cache());
  for (const std::uint64_t address : {1ull, 0x10ull, 0xffffffffull, ~0ull}) {
    EXPECT_EQ(symbolizer.resolve(module, address), std::vector<Frame>{Frame{}});
    const auto names = symbolizer.function_names(module, std::vector<std::uint64_t>{address});
    EXPECT_EQ(names.front(), FunctionName{});
  }
}

TEST(Symbolizer, VdsoHasNames) {
  const std::uint64_t vdso = ::getauxval(AT_SYSINFO_EHDR);
  void* handle = ::dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* function = handle == nullptr ? nullptr : ::dlsym(handle, "__vdso_clock_gettime");
  if (vdso == 0 || function == nullptr) GTEST_SKIP() << "this kernel gives no vdso with __vdso_clock_gettime";
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(vdso);
  const std::string image(reinterpret_cast<const char*>(vdso),
                          header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize);
  const TemporaryFolder folder;
  write_all(folder.path() / "vdso.so", image);
  trace::Module module = module_of(folder.path() / "vdso.so");
  module.path = "[vdso]";
  module.load_bias = vdso;
  Symbolizer symbolizer(without_cache());
  const std::vector<Frame> stack = symbolizer.resolve(module, reinterpret_cast<std::uint64_t>(function) + 1);
  EXPECT_TRUE(stack.back().function.ends_with("clock_gettime")) << stack.back().function;

  module.build_id[0] ^= 1;  // recorded under another kernel
  EXPECT_EQ(symbolizer.resolve(module, reinterpret_cast<std::uint64_t>(function) + 1), std::vector<Frame>{Frame{}});
}

TEST(Symbolizer, SecondReportComesFromTheCache) {
  const TemporaryFolder folder;
  SymbolizerOptions options;
  options.cache_dir = folder.path() / "cache";
  const std::filesystem::path program = folder.path() / "program";
  std::filesystem::copy_file(fixture("dwarf5"), program);
  const trace::Module module = module_of(program);
  const auto addresses = returning_to(function_addresses(program, 100));
  const auto first = Symbolizer(options).resolve(module, addresses);
  const auto file = options.cache_dir / (std::filesystem::directory_iterator(options.cache_dir)->path().filename());

  EXPECT_EQ(Symbolizer(options).resolve(module, addresses), first);
  // Proof that it is read: the DWARF is overwritten with the file's stamp kept, and the answer stays.
  const auto written = std::filesystem::last_write_time(program);
  std::string bytes = read_all(program);
  const std::string good = bytes;
  for (std::size_t at = 0x4000; at + 1 < bytes.size() - 0x1000; ++at) bytes[at] = 0;
  {
    std::ofstream out(program, std::ios::binary | std::ios::in);
    out << bytes;
  }
  std::filesystem::last_write_time(program, written);
  EXPECT_EQ(Symbolizer(options).resolve(module, addresses), first);
  write_all(program, good);
  // Damaged, or of a file that was touched since: resolved anew.
  EXPECT_EQ(Symbolizer(options).resolve(module, addresses), first);
  write_all(file, read_all(file).substr(0, 100));
  EXPECT_EQ(Symbolizer(options).resolve(module, addresses), first);
  EXPECT_GT(std::filesystem::file_size(file), 100u);
}

TEST(Symbolizer, CacheGrowsWithNewAddresses) {
  const TemporaryFolder folder;
  SymbolizerOptions options;
  options.cache_dir = folder.path();
  const trace::Module module = module_of(fixture("dwarf5"));
  const auto addresses = returning_to(function_addresses(fixture("dwarf5"), 60));
  const std::span<const std::uint64_t> all(addresses);
  const auto expected = Symbolizer(without_cache()).resolve(module, all);
  for (std::size_t i = 0; i < 60; i += 20) Symbolizer(options).resolve(module, all.subspan(i, 20));
  EXPECT_EQ(Symbolizer(options).resolve(module, all), expected);
}

}  // namespace
}  // namespace tare::core
