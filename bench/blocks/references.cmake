# Counted pointers beside Boost's and the standard library's.
find_package(Boost REQUIRED)
find_package(Threads REQUIRED)
add_executable(bench-references ${CMAKE_CURRENT_LIST_DIR}/references.cc)
target_link_libraries(bench-references PRIVATE tare_options tare Threads::Threads)
target_include_directories(bench-references SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
