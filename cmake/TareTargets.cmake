# What every target of the project shares: warnings, include roots, and helpers for tests.

add_library(tare_options INTERFACE)
target_compile_options(tare_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
# The library's locks are annotated for this analysis: see src/lib/fork/mutex.h.
target_compile_options(tare_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
# std::stable_sort of libstdc++ 12 calls what C++17 deprecates, and only gcc knows to be silent about that. gcc warns of other uses.
target_compile_options(tare_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
# Sources in one unit look like headers to these: a type of an anonymous namespace in a member, and gcc 12's PR 105651.
if(TARE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tare_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage;-Wno-restrict>)
endif()
target_include_directories(tare_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

# Tests compile with these after the build type's own: a test's code runs once, and takes longer to compile than to run.
set(TARE_TEST_OPTIONS "" CACHE STRING "compile options of GoogleTest programs")

# tare_add_test(NAME source... LIBS lib...): one GoogleTest program, found by ctest.
function(tare_add_test name)
  cmake_parse_arguments(ARG "" "" "LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE tare_options ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${TARE_TEST_OPTIONS})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TARE_UNITY_BUILD})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
endfunction()
