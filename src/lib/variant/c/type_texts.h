// Keeps texts of types until the value that needs them is complete: a stack of texts that stay where they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::c {

class TypeTexts {
 public:
  TypeTexts() noexcept = default;
  TypeTexts(const TypeTexts&) = delete;
  TypeTexts& operator=(const TypeTexts&) = delete;
  ~TypeTexts() { back_to({}); }

  struct Place {
    void* block = nullptr;
    std::size_t used = 0;
  };
  Place place() const noexcept { return {last_, used_}; }
  // Drops the texts kept since.
  void back_to(Place place) noexcept {
    while (last_ != place.block) {
      Block* before = last_->before;
      std::free(last_);
      last_ = before;
    }
    used_ = place.used;
  }

  // A copy with a zero behind; null without memory. Most variants contain a basic type, whose text needs no copy.
  const char* keep(std::string_view type) noexcept {
    if (type.size() == 1) return &kSingles[2 * static_cast<unsigned char>(type[0])];
    char* to = own_ + used_;
    if (type.size() + 1 <= sizeof own_ - used_) {
      used_ += type.size() + 1;
    } else {
      auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + type.size() + 1));
      if (block == nullptr) return nullptr;
      block->before = last_;
      last_ = block;
      to = reinterpret_cast<char*>(block + 1);
    }
    if (!type.empty()) std::memcpy(to, type.data(), type.size());
    to[type.size()] = 0;
    return to;
  }

 private:
  struct Block {
    Block* before;
  };
  static constexpr std::array<char, 512> kSingles = [] {
    std::array<char, 512> singles{};
    for (std::size_t i = 0; i < 256; ++i) singles[2 * i] = static_cast<char>(i);
    return singles;
  }();

  Block* last_ = nullptr;
  std::size_t used_ = 0;
  char own_[256];
};

}  // namespace tare::inline TARE_ABI::variant::c
