# Text streams beside fmt, LLVM, Abseil and the standard library's.
find_package(fmt REQUIRED)
find_package(absl REQUIRED)
add_executable(bench-streams ${CMAKE_CURRENT_LIST_DIR}/streams.cc)
target_link_libraries(bench-streams PRIVATE tare_options tare fmt::fmt absl::strings ${TARE_LLVM_LIBRARY})
target_include_directories(bench-streams SYSTEM PRIVATE ${TARE_LLVM_INCLUDE})
