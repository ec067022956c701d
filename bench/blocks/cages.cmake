# Cages beside mmap, malloc and the standard library's pools.
add_executable(bench-cages ${CMAKE_CURRENT_LIST_DIR}/cages.cc)
target_link_libraries(bench-cages PRIVATE tare_options tare)
