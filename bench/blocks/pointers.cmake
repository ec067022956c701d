# Compressed pointers beside plain ones and the seed's.
add_executable(bench-pointers ${CMAKE_CURRENT_LIST_DIR}/pointers.cc)
target_link_libraries(bench-pointers PRIVATE tare_options tare)
