# Arenas beside LLVM's and the standard library's.
find_path(TARE_LLVM_INCLUDE llvm/Support/Allocator.h PATHS /usr/lib/llvm-19/include REQUIRED)
find_library(TARE_LLVM_LIBRARY LLVM-19 PATHS /usr/lib/llvm-19/lib REQUIRED)
add_executable(bench-arenas ${CMAKE_CURRENT_LIST_DIR}/arenas.cc)
target_link_libraries(bench-arenas PRIVATE tare_options tare ${TARE_LLVM_LIBRARY})
target_include_directories(bench-arenas SYSTEM PRIVATE ${TARE_LLVM_INCLUDE})
