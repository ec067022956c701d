// A value tree as GLib's GVariantBuilder makes one, in small, with each step that made it faster as a switch: what the
// ablation table measures. Every variant really does or leaves out the work that its step is about.
//
//   ValueTree<0>::Builder builder("a{sv}");                 // as it was in GLib 2.74
//   ValueTree<kAllSteps>::Builder builder("a{sv}");         // with all that was done up to 2.84
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tare/variant/format.h"
#include "tare/variant/text_rules.h"
#include "tare/variant/type.h"

namespace tare::bench {

// In the order in which the seed tells them; each a bit.
enum Step : unsigned {
  kInfosKept = 1 << 0,         // type infos survive their last user: 32 that nobody uses are kept
  kFoundWithoutCopy = 1 << 1,  // looked up by the caller's characters, not by a copy of them
  kFoundWithoutLock = 1 << 2,  // and without the process-wide lock: a table a thread
  kNoAssertions = 1 << 3,      // type strings aren't validated again at every call
  kFormatInPlace = 1 << 4,     // format strings become types without a malloc
  kDefiniteEqual = 1 << 5,     // a type is its own subtype: one comparison before the walk over both
  kTextOnce = 1 << 6,          // checked and measured in one walk
  kNoShrinking = 1 << 7,       // no realloc of the list of children where their number is known
  kSinkWithoutLock = 1 << 8,   // a floating reference is sunk by one exchange
  kHandedOver = 1 << 9,        // the callee takes the caller's reference, no ref and unref
  kBytesInline = 1 << 10,      // small data lies in the bytes' object: 2 blocks a leaf
  kValueInline = 1 << 11,      // and in the value's: 1
  kTypeNotCopied = 1 << 12     // the builder refers to its type
};
inline constexpr unsigned kAllSteps = (1 << 13) - 1;

template <unsigned kSteps>
class ValueTree {
 public:
  static constexpr bool has(unsigned step) { return (kSteps & step) != 0; }

  // What a type string says, shared by the values of the type.
  struct Info {
    char* text;
    std::size_t text_size;
    variant::Layout layout;
    std::size_t references;
    std::string_view view() const { return {text, text_size}; }
  };

  static Info* info_of(std::string_view type) {
    if constexpr (!has(kFoundWithoutLock)) lock().lock();
    Info* info = nullptr;
    if constexpr (has(kFoundWithoutCopy)) {
      info = find_or_make(type);
    } else {
      char* copy = copied(type);
      info = find_or_make({copy, type.size()});
      std::free(copy);
    }
    ++info->references;
    if constexpr (!has(kFoundWithoutLock)) lock().unlock();
    return info;
  }
  static void release(Info* info) {
    if constexpr (!has(kFoundWithoutLock)) lock().lock();
    if (--info->references == 0) drop(info);
    if constexpr (!has(kFoundWithoutLock)) lock().unlock();
  }

  struct Bytes {
    std::atomic<int> references{1};
    const char* data;
    std::size_t size;
  };

  struct Value {
    std::atomic<int> references{1};
    std::atomic<unsigned> state{kFloating};
    Info* info;
    Bytes* bytes;
    const char* data;
    std::size_t size;
    Value** children;
    std::size_t child_count;
  };
  static constexpr unsigned kFloating = 1;
  static constexpr unsigned kLocked = 2;

  static Value* leaf(std::string_view type, const void* data, std::size_t size) {
    const bool is_inline = has(kValueInline);
    Value* value = new_value(type, is_inline ? size : 0);
    if (is_inline) {
      value->data = reinterpret_cast<char*>(value + 1);
    } else {
      value->bytes = new (std::malloc(sizeof(Bytes) + (has(kBytesInline) ? size : 0))) Bytes;
      value->data =
          has(kBytesInline) ? reinterpret_cast<char*>(value->bytes + 1) : static_cast<char*>(std::malloc(size));
      value->bytes->data = value->data;
      value->bytes->size = size;
      if constexpr (!has(kHandedOver)) {  // the value takes its own reference, and the maker's is dropped
        ref(*value->bytes);
        unref(value->bytes);
      }
    }
    std::memcpy(const_cast<char*>(value->data), data, size);
    value->size = size;
    return value;
  }
  static Value* text(std::string_view type, const char* text) {
    std::size_t size = 0;
    if constexpr (has(kTextOnce)) {
      while (text[size] > 0) ++size;  // ASCII, as all texts of the bench: validated up to its zero
      if (text[size] != 0) size = std::strlen(text);
    } else {
      const char* end = text;
      while (*end > 0) ++end;
      if (*end != 0 && !variant::is_text(text)) std::abort();
      size = std::strlen(text);
      asm volatile("" : "+r"(size));
    }
    return leaf(type, text, size + 1);
  }

  static void sink(Value* value) {
    if constexpr (has(kSinkWithoutLock)) {
      if ((value->state.fetch_and(~kFloating) & kFloating) == 0) value->references.fetch_add(1);
    } else {
      unsigned expected = value->state.load() & ~kLocked;
      while (!value->state.compare_exchange_weak(expected, expected | kLocked)) expected &= ~kLocked;
      value->references.fetch_add(1);
      if ((value->state.load() & kFloating) != 0) {
        value->references.fetch_sub(1);
        value->state.fetch_and(~kFloating);
      }
      value->state.fetch_and(~kLocked);
    }
  }
  static void unref(Value* value) {
    if (value->references.fetch_sub(1) != 1) return;
    for (std::size_t i = 0; i < value->child_count; ++i) unref(value->children[i]);
    std::free(value->children);
    if (value->bytes != nullptr) unref(value->bytes);
    release(value->info);
    std::free(value);
  }

  class Builder {
   public:
    explicit Builder(std::string_view type)
        : type_(has(kTypeNotCopied) ? type : std::string_view(copied(type), type.size())) {
      check(type);
      is_tuple_ = type_[0] == '(' || type_[0] == '{' || type_[0] == 'v';
      expected_ = type_[0] == 'v' ? std::string_view("*") : first_member();
      capacity_ = type_[0] == 'v' ? 1 : is_tuple_ ? variant::Type::trusted(type_).member_count() : 8;
      children_ = static_cast<Value**>(std::malloc(capacity_ * sizeof(Value*)));
    }
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;

    void add_value(Value* value) {
      if (!is_subtype(value->info->view(), expected_)) std::abort();
      if (count_ == capacity_) {
        capacity_ *= 2;
        children_ = static_cast<Value**>(std::realloc(children_, capacity_ * sizeof(Value*)));
      }
      sink(value);
      if constexpr (!has(kHandedOver)) {
        value->references.fetch_add(1);
        unref(value);
      }
      children_[count_++] = value;
      if (is_tuple_ && type_[0] != 'v') expected_ = next_member();
    }
    // A value by a format string, as g_variant_builder_add() has it.
    void add(std::string_view format, const char* text_value) { add_value(text(checked_format(format), text_value)); }
    template <typename Number>
    void add(std::string_view format, Number number) {
      const std::string_view type = checked_format(format);
      add_value(leaf(type, &number, sizeof number));
    }

    Value* end() {
      Value* value = new_value(type_, 0);
      const bool is_count_known = is_tuple_ || count_ == capacity_;
      if (!has(kNoShrinking) || !is_count_known) {
        children_ = static_cast<Value**>(std::realloc(children_, count_ * sizeof(Value*)));
      }
      value->children = children_;
      value->child_count = count_;
      if constexpr (!has(kTypeNotCopied)) std::free(const_cast<char*>(type_.data()));
      return value;
    }

   private:
    std::string_view first_member() const {
      if (type_[0] == 'a') return type_.substr(1);
      return member_at(1);
    }
    std::string_view next_member() const {
      return member_at(static_cast<std::size_t>(expected_.data() + expected_.size() - type_.data()));
    }
    std::string_view member_at(std::size_t at) const {
      if (at + 1 >= type_.size()) return {};
      const char* begin = type_.data() + at;
      return {begin, static_cast<std::size_t>(variant::type_details::skip(begin) - begin)};
    }
    static std::string_view checked_format(std::string_view format) {
      check(format);
      if constexpr (has(kFormatInPlace)) return format;
      char* copy = copied(format);
      if (!variant::is_type({copy, format.size()})) std::abort();
      std::free(copy);
      return format;
    }

    std::string_view type_;
    std::string_view expected_;
    bool is_tuple_;
    Value** children_;
    std::size_t count_ = 0;
    std::size_t capacity_;
  };

  // GVariant's bytes, which must be short: sizes first, then the bytes, as GLib does.
  static std::string serialized(const Value& value) {
    std::string bytes(size_of(value), '\0');
    write(value, bytes.data());
    return bytes;
  }
  static std::size_t size_of(const Value& value) {
    const char code = value.info->text[0];
    if (value.data != nullptr) return value.size;
    if (code == 'v') return size_of(*value.children[0]) + 1 + value.children[0]->info->text_size;
    std::size_t size = 0;
    std::size_t offsets = 0;
    for (std::size_t i = 0; i < value.child_count; ++i) {
      const Value& child = *value.children[i];
      size = variant::format_details::aligned(size, child.info->layout.alignment) + size_of(child);
      if (child.info->layout.fixed_size == 0 && (code == 'a' || i + 1 < value.child_count)) ++offsets;
    }
    return size + offsets;
  }
  static void write(const Value& value, char* to) {
    const char code = value.info->text[0];
    if (value.data != nullptr) {
      std::memcpy(to, value.data, value.size);
      return;
    }
    const std::size_t size = size_of(value);
    if (code == 'v') {
      const Value& child = *value.children[0];
      write(child, to);
      std::memcpy(to + size - child.info->text_size, child.info->text, child.info->text_size);
      return;
    }
    std::size_t at = 0;
    std::size_t offsets = 0;
    for (std::size_t i = 0; i < value.child_count; ++i) {
      const Value& child = *value.children[i];
      at = variant::format_details::aligned(at, child.info->layout.alignment);
      write(child, to + at);
      at += size_of(child);
      if (child.info->layout.fixed_size != 0 || (code != 'a' && i + 1 == value.child_count)) continue;
      if (code == 'a') {
        to[size - value.child_count + i] = static_cast<char>(at);
      } else {
        to[size - ++offsets] = static_cast<char>(at);
      }
    }
  }

 private:
  using Table = std::unordered_map<std::string_view, Info*>;
  static std::recursive_mutex& lock() {
    static std::recursive_mutex mutex;
    return mutex;
  }
  static Table& table() {
    static thread_local Table infos;
    return infos;
  }
  static char* copied(std::string_view text) {
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = 0;
    return copy;
  }
  static void check(std::string_view type) {
    if constexpr (!has(kNoAssertions)) {
      if (!variant::is_type(type)) std::abort();
    }
  }
  static bool is_subtype(std::string_view type, std::string_view pattern) {
    check(type);
    if constexpr (has(kDefiniteEqual)) return variant::matches(type, pattern);
    return walks_alike(type, pattern);
  }
  // matches() without its first comparison.
  static bool walks_alike(std::string_view type, std::string_view pattern) {
    const char* at = type.data();
    const char* end = at + type.size();
    for (const char wanted : pattern) {
      if (at == end) return false;
      if (*at == wanted) {
        ++at;
      } else if (wanted == '*') {
        at = variant::type_details::skip(at);
      } else {
        return false;
      }
    }
    return at == end;
  }

  static Info* find_or_make(std::string_view type) {
    const auto found = table().find(type);
    if (found != table().end()) return found->second;
    auto* info = static_cast<Info*>(std::malloc(sizeof(Info)));
    *info = {copied(type), type.size(), variant::Type::trusted(type).layout(), 0};
    table().emplace(info->view(), info);
    return info;
  }
  static void drop(Info* info) {
    if constexpr (has(kInfosKept)) {
      static thread_local std::vector<Info*> kept;
      for (const Info* each : kept) {
        if (each == info) return;
      }
      kept.push_back(info);
      if (kept.size() <= 32) return;
      info = kept.front();
      kept.erase(kept.begin());
      if (info->references != 0) return;
    }
    table().erase(info->view());
    std::free(info->text);
    std::free(info);
  }

  static Value* new_value(std::string_view type, std::size_t inline_size) {
    auto* value = new (std::malloc(sizeof(Value) + inline_size)) Value;
    value->info = info_of(type);
    value->bytes = nullptr;
    value->data = nullptr;
    value->size = 0;
    value->children = nullptr;
    value->child_count = 0;
    return value;
  }
  static void ref(Bytes& bytes) { bytes.references.fetch_add(1); }
  static void unref(Bytes* bytes) {
    if (bytes->references.fetch_sub(1) != 1) return;
    if constexpr (!has(kBytesInline)) std::free(const_cast<char*>(bytes->data));
    std::free(bytes);
  }
};

}  // namespace tare::bench
