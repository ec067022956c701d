# bench-atoms: tare::AtomTable beside other string tables.
find_package(absl REQUIRED)
find_package(Boost REQUIRED)
find_package(Threads REQUIRED)
add_executable(bench-atoms ${CMAKE_CURRENT_LIST_DIR}/atoms.cc)
# Peers' headers aren't ours to warn about.
target_include_directories(bench-atoms SYSTEM PRIVATE ${TARE_LLVM_INCLUDE} ${Boost_INCLUDE_DIRS})
target_include_directories(bench-atoms PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(bench-atoms PRIVATE tare_options tare ${TARE_LLVM_LIBRARY} absl::flat_hash_set Threads::Threads)
