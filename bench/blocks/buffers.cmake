# Growing arrays beside LLVM's, Abseil's and the standard library's.
find_package(absl REQUIRED)
add_executable(bench-buffers ${CMAKE_CURRENT_LIST_DIR}/buffers.cc)
target_link_libraries(bench-buffers PRIVATE tare_options tare absl::inlined_vector ${TARE_LLVM_LIBRARY})
target_include_directories(bench-buffers SYSTEM PRIVATE ${TARE_LLVM_INCLUDE})
# Abseil's own move assignment
target_compile_options(bench-buffers PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
