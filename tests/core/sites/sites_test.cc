// Trimming wrappers off stacks and grouping what is left.
#include "core/sites/sites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/sites/script_files.h"
#include "core/sites/wrappers.h"
#include "support/made_up_trace.h"

namespace tare::core {
namespace {

TEST(Wrappers, PlainNames) {
  const std::map<std::string, std::string> expected = {
      {"malloc", "malloc"},
      {"operator new(unsigned long)", "operator new"},
      {"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
      {"std::allocator<int>::allocate(unsigned long)", "std::allocator::allocate"},
      {"std::vector<std::pair<int, char> >::reserve(unsigned long)", "std::vector::reserve"},
      {"void* xalloc<int, std::less<int> >(int)", "xalloc"},
      {"std::map<int, int>& get<int>()", "get"},
      {"(anonymous namespace)::make(int)", "(anonymous)::make"},
      {"Foo::operator()(int) const", "Foo::operator()"},
      {"Foo::operator<(Foo const&) const", "Foo::operator<"},
      {"std::ostream& operator<< <int>(std::ostream&, int)", "operator<<"},
      {"Foo::operator->() const", "Foo::operator->"},
      {"f[abi:cxx11](int)", "f"},
      {"do_xmalloc [clone .part.0]", "do_xmalloc"},
      {"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
       "<alloc::alloc::Global as core::alloc::Allocator>::allocate"},
      {"", ""},
  };
  for (const auto& [name, plain] : expected) EXPECT_EQ(plain_name(name), plain) << name;
}

TEST(Wrappers, OddNamesEnd) {
  for (const char* name : {"<", ">", "operator<", "operator", "f<", "f>", "a::", "::", "[abi:", "f[abi:x", "operator(",
                           "decltype", "decltype(", "decltype (x) ", "decltype ()", " ", "((((", "<<<<>>"}) {
    plain_name(name);
    is_wrapper(name);
  }
}

TEST(Wrappers, KnowsThemFromTheirCallers) {
  // NOLINTBEGIN(bugprone-suspicious-missing-comma): names longer than a line
  for (const char* name :
       {"malloc",
        "operator new(unsigned long)",
        "__qsort_r",
        "_IO_getdelim",
        "xmalloc",
        "jsonp_malloc",
        "Jim_Alloc",
        "tree_realloc [clone .cold]",
        "do_xmalloc [clone .part.0]",
        "PyMem_Malloc",
        "PyMem_RawRealloc",
        "_PyMem_RawMalloc",
        "PyObject_Malloc",
        "sqlite3MemMalloc",
        "sqlite3Malloc",
        "mallocWithAlarm",
        "g_malloc0",
        "std::__new_allocator<char>::allocate(unsigned long, void const*)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
        "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
        "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
        "std::_Vector_base<int, std::allocator<int> >::_Vector_base(unsigned long, std::allocator<int> const&)",
        "std::vector<int, std::allocator<int> >::vector(unsigned long, std::allocator<int> const&)",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
        ">::_M_create(unsigned long&, unsigned long)",
        "__rust_alloc",
        "alloc::alloc::alloc",
        "alloc::alloc::exchange_malloc",
        "alloc::raw_vec::finish_grow",
        "<alloc::raw_vec::RawVecInner>::finish_grow",
        "<alloc::raw_vec::RawVec<u8>>::grow_one",
        "<alloc::vec::Vec<u8> as alloc::vec::spec_extend::SpecExtend<&u8, core::slice::iter::Iter<u8>>>::spec_extend",
        "<alloc::vec::Vec<u8>>::reserve",
        "<alloc::vec::Vec<u32>>::push",
        "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
        "<u8 as alloc::slice::hack::ConvertVec>::to_vec",
        "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
        "<[u8]>::to_vec_in::<alloc::alloc::Global>",
        "<[u8]>::to_vec",
        "<str>::to_owned",
        "<std::sys::fs::unix::ReadDir as core::iter::traits::iterator::Iterator>::next",
        "std::fs::read_dir",
        "<std::path::Path>::_join",
        "<T as alloc::string::ToString>::to_string",
        "<core::iter::adapters::map::Map<I,F> as core::iter::traits::iterator::Iterator>::fold",
        "alloc::string::String::push_str",
        "core::ops::function::FnOnce::call_once",
        "hashbrown::raw::RawTable<T,A>::reserve_rehash",
        "std::collections::hash::map::HashMap<K,V,S>::insert",
        "os::malloc(unsigned long, MEMFLAGS, NativeCallStack const&)",
        "zmalloc",
        "Perl_safesysmalloc",
        "ResizeQuantumMemory",
        "ngx_memalign",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
        ">::_M_mutate(unsigned long, unsigned long, char const*, unsigned long)",
        "_obstack_begin",
        "__vasprintf_internal",
        "jv_mem_alloc",
        "std::vector<int, std::allocator<int> >::push_back(int const&)",
        "void std::__cxx11::list<Order, std::allocator<Order> >::_M_insert<Order const&>(std::_List_iterator<Order>, "
        "Order const&)",
        "std::__detail::_MakeUniq<Order>::__single_object std::make_unique<Order>()",
        "std::__1::vector<int, std::__1::allocator<int>>::__push_back_slow_path<int const&>(int const&)",
        "std::map<int, Level>::operator[](int const&)",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > std::operator+<char, "
        "std::char_traits<char>, std::allocator<char> >(char const*, std::__cxx11::basic_string<char, "
        "std::char_traits<char>, std::allocator<char> >&&)",
        "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >(int)",
        "llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
        "tare::gc::HeapPool::use_page(void const*, unsigned long) const",
        "tare::v0_1_0::gc::HeapPool::use_page(void const*, unsigned long) const",
        "tare::v12_3::gc::HeapCore::grow()",
        "Node* tare::v0_1_0::gc::make<Node>(tare::v0_1_0::gc::HeapOf<int>&)",
        "(anonymous namespace)::Node* tare::gc::make<(anonymous namespace)::Node>(tare::gc::HeapOf<int>&)",
        "void std::vector<(anonymous namespace)::Node, std::allocator<(anonymous namespace)::Node> "
        ">::_M_realloc_insert<(anonymous namespace)::Node>(__gnu_cxx::__normal_iterator<(anonymous namespace)::Node*, "
        "std::vector<(anonymous namespace)::Node, std::allocator<(anonymous namespace)::Node> > >, (anonymous "
        "namespace)::Node&&)",
        "std::pair<(anonymous namespace)::Node*, long> std::get_temporary_buffer<(anonymous namespace)::Node>(long)",
        "std::__shrink_to_fit_aux<std::vector<(anonymous namespace)::Node, std::allocator<(anonymous namespace)::Node> "
        ">, true>::_S_do_it(std::vector<(anonymous namespace)::Node, std::allocator<(anonymous namespace)::Node> >&)",
        "std::promise<(anonymous namespace)::Node>::promise()",
        "xrealloc"}) {
    // NOLINTEND(bugprone-suspicious-missing-comma)
    EXPECT_TRUE(is_wrapper(name)) << name;
  }
  for (const char* name : {"",
                           "main",
                           "list_resize",
                           "scanstring_unicode",
                           "std::thread::_M_start_thread(std::unique_ptr<std::thread::_State>, void (*)())",
                           "pcache1Alloc",
                           "std::locale::locale(char const*)",
                           "mystd::vector<int>::push_back(int const&)",
                           "<[u8] as bstr::ext_slice::ByteSlice>::to_str_lossy",
                           "std::filesystem::path::append(char const*)",
                           "<grep::Lines as core::iter::traits::iterator::Iterator>::next",
                           "core::Engine::start()",
                           "alloc::Pool::grow()",
                           "zmalloc_get_rss",
                           "list_alloc",
                           "pool::my_malloc",
                           "mallocator::malloc_it",
                           "Foo::malloc(int)",
                           "strbuf_grow",
                           "my_operator_new"}) {
    EXPECT_FALSE(is_wrapper(name)) << name;
  }
}

TEST(Wrappers, FunctionsInTheLibrarysHeadersWithoutNamespaceAreWrappers) {
  const char* header = "/usr/include/c++/12/bits/new_allocator.h";
  EXPECT_TRUE(is_wrapper_frame("allocate", header));
  EXPECT_TRUE(is_wrapper_frame("allocate<std::pair<int, int>>", header));
  EXPECT_FALSE(is_wrapper_frame("allocate", "/home/me/pool.h"));
  EXPECT_FALSE(is_wrapper_frame("std::locale::locale(char const*)", header));
  EXPECT_FALSE(is_wrapper_frame("", header));
  EXPECT_TRUE(is_wrapper_frame("malloc", ""));
}

// Names rows from a table, and counts how many were asked for.
struct Names {
  std::map<std::uint64_t, std::vector<std::string>> by_address;
  std::set<std::uint64_t> asked;

  void answer(SiteFinder& finder, const MadeUpTrace& made) {
    for (auto rows = finder.unnamed_rows(); !rows.empty(); rows = finder.unnamed_rows()) {
      for (trace::RowId row : rows) {
        const std::uint64_t address = made.dictionary.rows[trace::index(row)];
        EXPECT_TRUE(asked.insert(address).second) << "asked twice";
        const auto& names = by_address[address];
        finder.name(row, std::vector<std::string_view>(names.begin(), names.end()));
      }
    }
  }
};

std::int64_t site_of(const Tables& tables, trace::StackId stack) {
  const Table& stack_sites = tables["stack_sites"];
  return stack_sites["site_id"].ints.at(row_where(stack_sites, "stack_id", trace::index(stack)));
}

// A function without a name at 0x3000 that `callers` call with requests of as many sizes, and one of its stacks with
// its caller's.
struct NamelessCalls {
  MadeUpTrace made;
  trace::StackId inner{};
  trace::StackId caller{};

  NamelessCalls(std::uint64_t callers, std::uint64_t sizes) {
    for (std::uint64_t i = 0; i < callers; ++i) {
      caller = made.stack(0x4000 + i, made.stack(0x1000));
      inner = made.stack(0x3000, caller);
      for (std::uint64_t size = 0; size < sizes; ++size)
        made.alloc(0x10000 * (i + 1) + 0x100 * size, made.shape(inner, 24 + size));
    }
  }

  // The row that names the site of `inner`.
  std::int64_t site_row(std::uint64_t function_bytes) {
    Tables tables = made.replay();
    SiteFinder finder(tables);
    for (auto rows = finder.unnamed_rows(); !rows.empty(); rows = finder.unnamed_rows()) {
      for (trace::RowId row : rows) {
        const std::uint64_t address = made.dictionary.rows[trace::index(row)];
        const std::uint64_t begin = address & ~std::uint64_t{0xfff};
        finder.place(row, {trace::ModuleId{0}, begin}, address == 0x3000 ? function_bytes : 1000);
      }
    }
    finder.add_to(tables);
    const Table& sites = tables["sites"];
    return sites["site_location_id"].ints.at(row_where(sites, "site_id", site_of(tables, inner)));
  }
  std::int64_t row_of(trace::StackId stack) {
    const Tables tables = made.replay();
    return tables["stacks"]["location_id"].ints.at(trace::index(stack));
  }
};

TEST(Sites, SmallFunctionsWithoutANameThatAllocateForManyCallersAreWrappers) {
  NamelessCalls calls(4, 4);
  EXPECT_EQ(calls.site_row(60), calls.row_of(calls.caller));
}

TEST(Sites, OtherFunctionsWithoutANameAreSites) {
  NamelessCalls of_few(3, 4), of_a_type(4, 3), large(4, 4);
  EXPECT_EQ(of_few.site_row(60), of_few.row_of(of_few.inner));
  EXPECT_EQ(of_a_type.site_row(60), of_a_type.row_of(of_a_type.inner));
  EXPECT_EQ(large.site_row(400), large.row_of(large.inner));
}

TEST(Sites, WrappersAreTrimmedAndOnlyTheirRowsAsked) {
  MadeUpTrace made;
  const auto main_frame = made.stack(0x1000);
  const auto caller = made.stack(0x2000, main_frame);
  const auto wrapped = made.stack(0x4000, made.stack(0x3000, caller));
  const auto direct = made.stack(0x5000, main_frame);
  made.alloc(0x10010, made.shape(wrapped, 10));
  made.alloc(0x20010, made.shape(caller, 10));
  made.alloc(0x30010, made.shape(direct, 10));
  made.alloc(0x40010, made.shape(trace::kEmptyStack, 10));
  Tables tables = made.replay();
  SiteFinder finder(tables);
  Names names;
  names.by_address = {{0x1000, {"main"}},
                      {0x2000, {"build(int)"}},
                      {0x3000, {"xmalloc"}},
                      {0x4000, {"std::allocator<int>::allocate(unsigned long)", "operator new(unsigned long)"}},
                      {0x5000, {"std::allocator<int>::allocate(unsigned long)", "fill()"}}};
  names.answer(finder, made);
  EXPECT_FALSE(names.asked.count(0x1000));
  finder.add_to(tables);
  EXPECT_EQ(site_of(tables, wrapped), site_of(tables, caller));
  EXPECT_NE(site_of(tables, direct), site_of(tables, caller));
  const Table& sites = tables["sites"];
  EXPECT_EQ(sites.rows(), 3u);
  const auto row = static_cast<std::size_t>(site_of(tables, wrapped));
  EXPECT_EQ(sites["stack_id"].ints[row], trace::index(caller));
  EXPECT_EQ(made.dictionary.rows[static_cast<std::size_t>(sites["site_location_id"].ints[row])], 0x2000u);
  const auto empty = static_cast<std::size_t>(site_of(tables, trace::kEmptyStack));
  EXPECT_TRUE(sites["site_location_id"].is_null(empty));
}

// Between the interpreter's frames: the innermost line of the user's own Python. Not where other native code allocates.
TEST(Sites, PythonIsNamedByTheUsersLine) {
  MadeUpTrace made;
  made.dictionary.modules[0].path = "/usr/bin/python3.11";
  made.dictionary.modules.push_back({0, 0, 0, "[python]", {}, 0});
  made.dictionary.modules.push_back({0x1000, 0x1000, 0x100000, "/x/site-packages/fast.so", {}, 0});
  constexpr std::uint64_t kPython = std::uint64_t{1} << 48, kFast = std::uint64_t{2} << 48;
  const auto main_frame = made.stack(0x1000);
  const auto user = made.stack(kPython | 0x100, main_frame);
  const auto package = made.stack(kPython | 0x200, made.stack(0x2000, user));
  const auto deep = made.stack(0x4000, made.stack(0x3000, package));
  const auto native = made.stack(0x4000, made.stack(kFast | 0x5000, user));
  const auto no_user = made.stack(0x4000, made.stack(kPython | 0x300, main_frame));
  const auto malloc_named = made.stack(0x4000, made.stack(kPython | 0x400, main_frame));
  const auto row_of = [&](trace::StackId stack) { return made.dictionary.stacks[trace::index(stack)].row; };
  made.dictionary.given_frames = {
      {row_of(user), "load", "/home/me/app.py", 7},
      {row_of(package), "loads", "/usr/lib/python3.11/json/__init__.py", 346},
      {static_cast<trace::RowId>(trace::index(row_of(no_user)) - 1), "f", "<frozen importlib._bootstrap>", 1},
      {static_cast<trace::RowId>(trace::index(row_of(no_user)) + 1), "malloc", "/home/me/app.py", 9}};
  std::ranges::sort(made.dictionary.given_frames, {}, &trace::GivenFrame::row);
  std::uint64_t address = 0x10010;
  for (const auto stack : {deep, native, no_user, malloc_named}) made.alloc(address += 16, made.shape(stack, 10));
  Tables tables = made.replay();
  SiteFinder finder(tables);
  Names names;
  names.by_address = {{kPython | 0x400, {"malloc"}}};
  names.answer(finder, made);
  finder.add_to(tables);
  const auto stack_of = [&](trace::StackId stack) {
    return static_cast<trace::StackId>(
        tables["sites"]["stack_id"].ints[static_cast<std::size_t>(site_of(tables, stack))]);
  };
  EXPECT_EQ(stack_of(deep), user);
  EXPECT_EQ(stack_of(native), native);
  EXPECT_EQ(stack_of(no_user), made.stack(kPython | 0x300, main_frame)) << "no frame of the user's: the innermost one";
  EXPECT_EQ(stack_of(malloc_named), made.stack(kPython | 0x400, main_frame)) << "a Python function is no wrapper";
}

TEST(Sites, WhoseAPythonFileIs) {
  for (const char* file : {"/usr/lib/python3.11/json/decoder.py", "/usr/lib/python3/dist-packages/yaml/a.py",
                           "/home/me/.venv/lib/python3.12/site-packages/x.py", "<frozen importlib._bootstrap>",
                           "/opt/py/lib64/python3.9/os.py", "", "/x/lib/python3.13t/os.py"}) {
    EXPECT_TRUE(is_imported_python(file, "f")) << file;
  }
  for (const char* file : {"/home/me/app.py", "app.py", "<stdin>", "<string>", "/home/lib/python3x/a.py",
                           "/srv/python3.11/app.py", "/usr/lib/python3.txt"}) {
    EXPECT_FALSE(is_imported_python(file, "f")) << file;
  }
  EXPECT_TRUE(is_imported_python("<string>", "Point.__init__")) << "made by dataclasses";
  EXPECT_TRUE(is_python_interpreter("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"));
  EXPECT_TRUE(is_python_interpreter("/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so"));
  EXPECT_FALSE(is_python_interpreter("/x/site-packages/numpy/core/_multiarray.so"));
}

// The row of generated code that a JIT compiler named; two versions of one function.
TEST(Sites, JavaScriptIsNamedByTheUsersFunction) {
  MadeUpTrace made;
  made.dictionary.modules[0].path = "/usr/bin/node";
  made.dictionary.modules.push_back({0x1000, 0x1000, 0x100000, "/srv/node_modules/fast/fast.node", {}, 0});
  constexpr std::uint64_t kGenerated = std::uint64_t{0xffff} << 48, kFast = std::uint64_t{1} << 48;
  const auto main_frame = made.stack(0x1000);
  const auto user = made.stack(kGenerated | 0x100, main_frame);
  const auto optimized = made.stack(kGenerated | 0x200, main_frame);
  const auto deep = made.stack(0x4000, made.stack(kGenerated | 0x300, made.stack(kGenerated | 0x400, user)));
  const auto other_version = made.stack(0x4000, optimized);
  const auto native = made.stack(0x4000, made.stack(kFast | 0x5000, user));
  const auto row_of = [&](trace::StackId stack) { return made.dictionary.stacks[trace::index(stack)].row; };
  made.dictionary.given_frames = {{row_of(user), "load", "/srv/app.js", 7},
                                  {row_of(optimized), "load", "/srv/app.js", 7}};
  std::ranges::sort(made.dictionary.given_frames, {}, &trace::GivenFrame::row);
  std::uint64_t address = 0x10010;
  for (const auto stack : {deep, other_version, native}) made.alloc(address += 16, made.shape(stack, 10));
  Tables tables = made.replay();
  SiteFinder finder(tables);
  Names names;
  names.answer(finder, made);
  finder.add_to(tables);
  EXPECT_EQ(site_of(tables, deep), site_of(tables, other_version));
  EXPECT_NE(site_of(tables, deep), site_of(tables, native)) << "a package's own native code";
  EXPECT_EQ(
      static_cast<trace::StackId>(tables["sites"]["stack_id"].ints[static_cast<std::size_t>(site_of(tables, deep))]),
      user);
}

TEST(Sites, WhoseAScriptOrMethodIs) {
  for (const char* file : {"node:fs", "/srv/node_modules/x/index.js", "internal/url.js"}) {
    EXPECT_TRUE(is_javascript(file) && is_imported_javascript(file)) << file;
  }
  for (const char* file : {"/srv/app.js", "a.mjs", "[eval]", "x.ts"}) {
    EXPECT_TRUE(is_javascript(file) && !is_imported_javascript(file)) << file;
  }
  EXPECT_FALSE(is_javascript("/srv/app.py"));
  EXPECT_TRUE(is_java_method("void app.Store.add(int)"));
  EXPECT_FALSE(is_imported_java("void app.Store.add(int)"));
  EXPECT_FALSE(is_imported_java("java.lang.String app.Store.name()"));
  EXPECT_TRUE(is_imported_java("long jdk.internal.misc.Unsafe.allocateMemory(long)"));
  for (const char* function : {"Interpreter", "StubRoutines (1)", "f()", "void f(int)", "", "operator()(a.b)"}) {
    EXPECT_FALSE(is_java_method(function)) << function;
  }
  EXPECT_TRUE(is_java_engine("/usr/lib/jvm/java-17/lib/server/libjvm.so"));
  EXPECT_FALSE(is_java_engine("/opt/app/libnative.so"));
  EXPECT_TRUE(is_own_managed("", "/srv/app.js", "f"));
  EXPECT_FALSE(is_own_managed("", "node:fs", "f"));
  EXPECT_TRUE(is_own_managed("", "", "void app.Store.add(int)"));
  EXPECT_FALSE(is_own_managed("", "", "Interpreter"));
  EXPECT_FALSE(is_own_managed("", "/src/imported.c", "f"));
  EXPECT_TRUE(is_own_managed("[python]", "/srv/app.py", "f"));
  EXPECT_FALSE(is_own_managed("[python]", "/usr/lib/python3.11/json/decoder.py", "f"));
  EXPECT_FALSE(is_own_managed("/usr/bin/node", "/srv/app.js", "f"));
}

TEST(Sites, DepthDecidesWhatIsOneSite) {
  MadeUpTrace made;
  const auto a = made.stack(0x9000, made.stack(0x2000, made.stack(0x1000)));
  const auto b = made.stack(0x9000, made.stack(0x2001, made.stack(0x1000)));
  const auto c = made.stack(0x9000, made.stack(0x2001, made.stack(0x1001)));
  std::uint64_t address = 0x10010;
  for (const auto stack : {a, b, c}) made.alloc(address += 16, made.shape(stack, 10));
  for (const auto& [depth, sites] : std::map<std::uint32_t, std::size_t>{{0, 1}, {1, 1}, {2, 2}, {3, 3}, {8, 3}}) {
    Tables tables = made.replay();
    SiteFinder finder(tables, depth);
    Names names;
    names.answer(finder, made);
    finder.add_to(tables);
    EXPECT_EQ(tables["sites"].rows(), sites) << depth;
    EXPECT_EQ(tables["stack_sites"].rows(), 3u);
  }
}

TEST(Sites, NothingButWrappersKeepsTheStack) {
  MadeUpTrace made;
  const auto stack = made.stack(0x2000, made.stack(0x1000));
  made.alloc(0x10010, made.shape(stack, 10));
  Tables tables = made.replay();
  SiteFinder finder(tables);
  Names names;
  names.by_address = {{0x1000, {"xmalloc"}}, {0x2000, {"malloc"}}};
  names.answer(finder, made);
  finder.add_to(tables);
  EXPECT_EQ(tables["sites"]["stack_id"].ints.at(0), trace::index(stack));
}

}  // namespace
}  // namespace tare::core
