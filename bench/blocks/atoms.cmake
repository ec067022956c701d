# bench-atoms: tare::AtomTable beside other string tables.
find_package(absl REQUIRED)
find_package(Boost REQUIRED)
find_package(Threads REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG)
add_executable(bench-atoms ${CMAKE_CURRENT_LIST_DIR}/atoms.cc)
# Peers' headers aren't ours to warn about.
target_include_directories(bench-atoms SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${Boost_INCLUDE_DIRS})
target_include_directories(bench-atoms PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(bench-atoms PRIVATE tare_options tare LLVM absl::flat_hash_set Threads::Threads)
