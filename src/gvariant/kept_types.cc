// A table of one value of each type, found without a lock.
#include "gvariant/kept_types.h"

#include <glib.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace tare::gvariant {
namespace {

struct Kept {
  std::size_t size;
  std::atomic<GVariant*> value;  // null: freed
  char type[];
};

constexpr std::size_t kSlots = 512;  // a power of two, and twice as many as are used
constexpr std::size_t kMost = 256;
std::atomic<Kept*> slots[kSlots];
std::atomic<std::size_t> used;

GVariant* any_value(const char* type) {
  // no bytes: the type's default
  const auto* variant_type = reinterpret_cast<const GVariantType*>(type);
  return g_variant_take_ref(g_variant_new_from_data(variant_type, nullptr, 0, FALSE, nullptr, nullptr));
}

void keep_again(Kept& kept) {
  GVariant* value = any_value(kept.type);
  GVariant* none = nullptr;
  if (!kept.value.compare_exchange_strong(none, value)) g_variant_unref(value);
}

}  // namespace

void keep_type(std::string_view type) noexcept {
  std::uint32_t hash = 2166136261U;
  for (const char code : type) hash = (hash ^ static_cast<unsigned char>(code)) * 16777619U;
  Kept* made = nullptr;
  for (std::size_t slot = hash;; ++slot) {
    std::atomic<Kept*>& place = slots[slot % kSlots];
    Kept* kept = place.load(std::memory_order_acquire);
    if (kept == nullptr) {
      if (made == nullptr) {
        if (used.fetch_add(1, std::memory_order_relaxed) >= kMost) {
          used.fetch_sub(1, std::memory_order_relaxed);
          return;
        }
        made = static_cast<Kept*>(g_malloc(sizeof(Kept) + type.size() + 1));
        made->size = type.size();
        std::memcpy(made->type, type.data(), type.size());
        made->type[type.size()] = 0;
        new (&made->value) std::atomic<GVariant*>(any_value(made->type));
      }
      if (place.compare_exchange_strong(kept, made, std::memory_order_acq_rel)) return;
    }
    if (kept->size != type.size() || std::memcmp(kept->type, type.data(), type.size()) != 0) continue;
    if (made != nullptr) {  // another thread was faster
      g_variant_unref(made->value.load());
      g_free(made);
      used.fetch_sub(1, std::memory_order_relaxed);
    }
    if (kept->value.load(std::memory_order_relaxed) == nullptr) keep_again(*kept);
    return;
  }
}

void let_types_go() noexcept {
  for (std::atomic<Kept*>& place : slots) {
    Kept* kept = place.load(std::memory_order_acquire);
    GVariant* value = kept == nullptr ? nullptr : kept->value.exchange(nullptr);
    if (value != nullptr) g_variant_unref(value);
  }
}

}  // namespace tare::gvariant
