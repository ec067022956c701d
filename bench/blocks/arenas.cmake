# Arenas beside LLVM's and the standard library's.
add_executable(bench-arenas ${CMAKE_CURRENT_LIST_DIR}/arenas.cc)
target_link_libraries(bench-arenas PRIVATE tare_options tare ${TARE_LLVM_LIBRARY})
target_include_directories(bench-arenas SYSTEM PRIVATE ${TARE_LLVM_INCLUDE})
