// Values of tare/variant/c.h as wholes: made, shared, compared, printed.
#include "lib/variant/c/value.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "tare/variant/text.h"

namespace tare::inline TARE_ABI::variant::c {
namespace {

constexpr std::size_t kHeader = sizeof(tare_variant);
static_assert(kHeader == 48);

tare_variant* make_block(std::string_view type, std::size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - kHeader - type.size() - 1) return nullptr;
  void* block = std::malloc(kHeader + bytes + type.size() + 1);
  if (block == nullptr) return nullptr;
  char* text = static_cast<char*>(block) + kHeader + bytes;
  std::memcpy(text, type.data(), type.size());
  text[type.size()] = 0;
  auto* value = new (block) tare_variant{};
  value->references = 1;
  value->type_size = static_cast<std::uint32_t>(type.size());
  value->type = text;
  return value;
}

tare_variant* rewritten(const tare_variant& value, std::endian order) noexcept {
  Output out;
  const Written written = view_of(value).normal_form(out, order);
  return written ? make_value(type_of(value), written.bytes(), Trust::NormalForm) : nullptr;
}

}  // namespace

tare_variant* make_value(std::string_view type, std::size_t size, Trust trust, char*& bytes) noexcept {
  tare_variant* value = make_block(type, size);
  if (value == nullptr) return nullptr;
  value->is_floating = true;
  value->is_trusted = trust == Trust::NormalForm;
  value->size = size;
  bytes = reinterpret_cast<char*>(value) + kHeader;
  value->data = size == 0 ? nullptr : bytes;
  return value;
}

tare_variant* make_value(std::string_view type, std::string_view bytes, Trust trust) noexcept {
  char* to = nullptr;
  tare_variant* value = make_value(type, bytes.size(), trust, to);
  if (value != nullptr && !bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return value;
}

tare_variant* part_of(tare_variant& whole, const View& part) noexcept {
  const std::size_t depth = whole.depth + part.depth();
  const bool is_too_deep = depth + part.type().depth() >= kDeepest;
  const View shown = is_too_deep ? View() : part;
  tare_variant* value = make_block(shown.type().text(), 0);
  if (value == nullptr) return nullptr;
  const std::string_view bytes = shown.bytes();
  value->is_trusted = shown.is_trusted();
  value->depth = static_cast<std::uint8_t>(depth < kDeepest ? depth : kDeepest - 1);
  value->data = bytes.empty() ? nullptr : bytes.data();
  value->size = bytes.size();
  if (bytes.empty()) value->is_trusted = false;  // zeros in place of a value that isn't there
  value->owner = whole.owner != nullptr ? whole.owner : &whole;
  tare_variant_ref(value->owner);
  return value;
}

}  // namespace tare::inline TARE_ABI::variant::c

using tare::variant::Output;
using tare::variant::TypeAnnotations;
using tare::variant::c::type_of;
using tare::variant::c::view_of;

extern "C" {

tare_variant* tare_variant_ref(tare_variant* value) {
  value->references.fetch_add(1, std::memory_order_relaxed);
  return value;
}

tare_variant* tare_variant_ref_sink(tare_variant* value) {
  return tare::variant::c::sink(*value) ? value : tare_variant_ref(value);
}

tare_variant* tare_variant_take_ref(tare_variant* value) {
  value->is_floating.store(false, std::memory_order_relaxed);
  return value;
}

bool tare_variant_is_floating(const tare_variant* value) { return value->is_floating.load(std::memory_order_relaxed); }

void tare_variant_unref(tare_variant* value) {
  if (value == nullptr) return;
  // the holder of the only reference needs no locked instruction
  if (value->references.load(std::memory_order_acquire) != 1 &&
      value->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  tare_variant* owner = value->owner;
  std::free(value);
  if (owner != nullptr) tare_variant_unref(owner);
}

const char* tare_variant_get_type_string(const tare_variant* value) { return value->type; }

bool tare_variant_is_of_type(const tare_variant* value, const char* type) {
  return tare::variant::is_type_pattern(type) && tare::variant::matches(type_of(*value), type);
}

size_t tare_variant_get_size(const tare_variant* value) { return value->size; }
const void* tare_variant_get_data(const tare_variant* value) { return value->data; }

bool tare_variant_is_normal_form(const tare_variant* value) { return value->is_trusted || view_of(*value).is_normal(); }

tare_variant* tare_variant_get_normal_form(tare_variant* value) {
  if (tare_variant_is_normal_form(value)) return tare_variant_ref(value);
  tare_variant* normal = tare::variant::c::rewritten(*value, std::endian::native);
  return normal == nullptr ? nullptr : tare_variant_take_ref(normal);
}

tare_variant* tare_variant_byteswap(const tare_variant* value) {
  constexpr auto kOther = std::endian::native == std::endian::little ? std::endian::big : std::endian::little;
  tare_variant* swapped = tare::variant::c::rewritten(*value, kOther);
  return swapped == nullptr ? nullptr : tare_variant_take_ref(swapped);
}

bool tare_variant_equal(const tare_variant* a, const tare_variant* b) { return view_of(*a) == view_of(*b); }

int tare_variant_compare(const tare_variant* a, const tare_variant* b) {
  const auto order = view_of(*a) <=> view_of(*b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

uint64_t tare_variant_hash(const tare_variant* value) { return view_of(*value).hash(); }

char* tare_variant_print(const tare_variant* value, enum tare_variant_annotations types) {
  Output out;
  const auto printed = tare::variant::print(
      out, view_of(*value), types == TARE_VARIANT_PRINT_TYPES ? TypeAnnotations::Print : TypeAnnotations::Omit);
  return printed ? strndup(printed.data(), printed.size()) : nullptr;
}

}  // extern "C"
