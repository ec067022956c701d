# Text streams beside fmt, LLVM, Abseil and the standard library's.
find_package(fmt REQUIRED)
find_package(absl REQUIRED)
# LLVM's own package file looks for all that LLVM was built with; a header and a library do here.
find_path(TARE_LLVM_INCLUDE llvm/ADT/SmallString.h PATHS /usr/lib/llvm-19/include REQUIRED)
find_library(TARE_LLVM_LIBRARY LLVM-19 PATHS /usr/lib/llvm-19/lib REQUIRED)
add_executable(bench-streams ${CMAKE_CURRENT_LIST_DIR}/streams.cc)
target_link_libraries(bench-streams PRIVATE tare_options tare fmt::fmt absl::strings ${TARE_LLVM_LIBRARY})
target_include_directories(bench-streams SYSTEM PRIVATE ${TARE_LLVM_INCLUDE})
