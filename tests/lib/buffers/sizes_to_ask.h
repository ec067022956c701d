// Which sizes are compared with real allocators: all up to 64 KiB, then around every class border that could be.
#pragma once

#include <cstddef>
#include <initializer_list>

template <typename Visit>
void for_each_size_to_ask(Visit&& visit) {
  for (std::size_t size = 0; size <= 64 * 1024; ++size) visit(size);
  for (std::size_t power = 64 * 1024; power <= 64 * 1024 * 1024; power *= 2) {
    for (std::size_t sixteenth = 0; sixteenth < 16; ++sixteenth) {
      const std::size_t size = power + power / 16 * sixteenth;
      for (std::size_t off : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{100}, std::size_t{4096}}) {
        visit(size + off);
        visit(size - off);
      }
    }
  }
}
