// The limit: each message written by hand for its one layout, as a program would that knows nothing else. Texts are
// checked for UTF-8 while they are copied, as ours are, by the same function; nothing else is checked, not even room.
// All of it is inlined, whatever the compiler thinks of the size: else the limit doubled from build to build.
#pragma once

#include <cstring>

#include "messages.h"
#include "tare/variant/text_rules.h"

namespace tare::bench {

class HandWriter {
 public:
  explicit HandWriter(char* base) : base_(base) {}

  std::size_t at() const { return at_; }
  bool is_ok() const { return is_ok_; }
  [[gnu::always_inline]] void align(std::size_t alignment) {
    const std::size_t to = (at_ + alignment - 1) & ~(alignment - 1);
    std::memset(base_ + at_, 0, 8);
    at_ = to;
  }
  template <typename Number>
  [[gnu::always_inline]] void number(Number number) {
    std::memcpy(base_ + at_, &number, sizeof number);
    at_ += sizeof number;
  }
  [[gnu::always_inline]] void text(std::string_view text) {
    is_ok_ &= variant::copy_text(base_ + at_, text);
    base_[at_ + text.size()] = 0;
    at_ += text.size() + 1;
  }
  template <std::size_t kSize>
  [[gnu::always_inline]] void bytes(const char (&bytes)[kSize]) {
    std::memcpy(base_ + at_, bytes, kSize - 1);
    at_ += kSize - 1;
  }
  [[gnu::always_inline]] void blob(const void* data, std::size_t size) {
    std::memcpy(base_ + at_, data, size);
    at_ += size;
  }
  [[gnu::always_inline]] void end_of(std::size_t end) { base_[at_++] = static_cast<char>(end); }
  [[gnu::always_inline]] void wide_end_of(std::size_t end) { number(static_cast<std::uint16_t>(end)); }

 private:
  char* base_;
  std::size_t at_ = 0;
  bool is_ok_ = true;
};

[[gnu::always_inline]] inline void rect_by_hand(HandWriter& to, const Rect& r) {
  to.number(r.x);
  to.number(r.y);
  to.number(r.width);
  to.number(r.height);
}

[[gnu::always_inline]] inline void key_by_hand(HandWriter& to, const KeyEvent& key) {
  to.number(key.symbol);
  to.number(key.code);
  to.number(key.state);
}

// {sv}: key, value behind padding, and where the key ended.
template <typename Value>
[[gnu::always_inline]] inline std::size_t entry_by_hand(HandWriter& to, std::string_view key, Value value) {
  to.align(8);
  const std::size_t begin = to.at();
  to.text(key);
  const std::size_t key_end = to.at() - begin;
  to.align(8);
  value();
  to.end_of(key_end);
  return to.at();
}

[[gnu::always_inline]] inline void dictionary_by_hand(HandWriter& to, std::uint32_t size, double ratio) {
  std::size_t ends[8];
  ends[0] = entry_by_hand(to, texts.keys[0], [&] { to.text(texts.name), to.bytes("\0s"); });
  ends[1] = entry_by_hand(to, texts.keys[1], [&] { to.number(size), to.bytes("\0u"); });
  ends[2] = entry_by_hand(to, texts.keys[2], [&] { to.bytes("\1\0b"); });
  ends[3] = entry_by_hand(to, texts.keys[3], [&] { to.number(ratio), to.bytes("\0d"); });
  ends[4] = entry_by_hand(to, texts.keys[4], [&] { to.number(std::int64_t{-7}), to.bytes("\0x"); });
  ends[5] = entry_by_hand(to, texts.keys[5], [&] { to.text(texts.title), to.bytes("\0s"); });
  ends[6] = entry_by_hand(to, texts.keys[6], [&] { to.number(std::int32_t{8}), to.bytes("\0i"); });
  ends[7] = entry_by_hand(to, texts.keys[7], [&] { to.number(std::uint8_t{3}), to.bytes("\0y"); });
  for (const std::size_t end : ends) to.end_of(end);
}

[[gnu::always_inline]] inline void words_by_hand(HandWriter& to) {
  std::uint16_t ends[words.size()];
  for (std::size_t i = 0; i < words.size(); ++i) {
    to.text(words[i]);
    ends[i] = static_cast<std::uint16_t>(to.at());
  }
  to.blob(ends, sizeof ends);
}

[[gnu::always_inline]] inline void engine_by_hand(HandWriter& to, const Engine& e) {
  std::uint8_t ends[12];
  std::size_t count = 0;
  const auto add = [&](const char* text) __attribute__((always_inline)) {
    to.text(text);
    ends[count++] = static_cast<std::uint8_t>(to.at());
  };
  add(e.name);
  add(e.long_name);
  add(e.description);
  add(e.language);
  add(e.license);
  add(e.author);
  add(e.icon);
  add(e.layout);
  to.align(4);
  to.number(e.rank);
  add(e.hotkeys);
  add(e.symbol);
  add(e.setup);
  to.text(e.version);
  while (count > 0) to.end_of(ends[--count]);
}

// (texts.attribute, {}, type, value, start, end) in a variant.
[[gnu::always_inline]] inline void attribute_by_hand(HandWriter& to, std::uint32_t type, std::uint32_t end) {
  to.align(8);
  const std::size_t begin = to.at();
  to.text(texts.attribute);
  const std::size_t name_end = to.at() - begin;
  to.align(8);
  const std::size_t dictionary_end = to.at() - begin;
  to.number(type);
  to.number(std::uint32_t{1});
  to.number(std::uint32_t{0});
  to.number(end);
  to.end_of(dictionary_end);
  to.end_of(name_end);
  to.bytes("\0(sa{sv}uuuu)");
}

[[gnu::always_inline]] inline void preedit_by_hand(HandWriter& to, std::string_view text) {
  to.text(texts.text);
  const std::size_t name_end = to.at();
  to.align(8);
  const std::size_t dictionary_end = to.at();
  to.text(text);
  const std::size_t text_end = to.at();
  to.align(8);
  const std::size_t list = to.at();
  to.text(texts.list);
  const std::size_t list_name_end = to.at() - list;
  to.align(8);
  const std::size_t list_dictionary_end = to.at() - list;
  const std::size_t attributes = to.at();
  attribute_by_hand(to, 1, 12);
  const std::size_t first_end = to.at() - attributes;
  attribute_by_hand(to, 2, 6);
  const std::size_t second_end = to.at() - attributes;
  to.end_of(first_end);
  to.end_of(second_end);
  to.end_of(list_dictionary_end);
  to.end_of(list_name_end);
  to.bytes("\0(sa{sv}av)");
  to.end_of(text_end);
  to.end_of(dictionary_end);
  to.end_of(name_end);
}

// a(sa{sv}): three groups of five settings.
[[gnu::always_inline]] inline void nested_by_hand(HandWriter& to) {
  std::size_t group_ends[std::size(texts.groups)];
  for (std::size_t group = 0; group < std::size(texts.groups); ++group) {
    to.align(8);
    const std::size_t begin = to.at();
    to.text(texts.groups[group]);
    const std::size_t name_end = to.at() - begin;
    to.align(8);
    const std::size_t dictionary = to.at();
    std::size_t ends[5];
    ends[0] = entry_by_hand(to, texts.group_keys[0], [&] { to.bytes("\1\0b"); });
    ends[1] = entry_by_hand(to, texts.group_keys[1], [&] { to.text(texts.groups[group]), to.bytes("\0s"); });
    ends[2] =
        entry_by_hand(to, texts.group_keys[2], [&] { to.number(static_cast<std::uint32_t>(group)), to.bytes("\0u"); });
    ends[3] = entry_by_hand(to, texts.group_keys[3], [&] { to.number(0.5), to.bytes("\0d"); });
    ends[4] = entry_by_hand(to, texts.group_keys[4], [&] { to.number(std::int64_t{1000}), to.bytes("\0x"); });
    for (const std::size_t end : ends) to.end_of(end - dictionary);
    to.end_of(name_end);
    group_ends[group] = to.at();
  }
  for (const std::size_t end : group_ends) to.wide_end_of(end);
}

[[gnu::always_inline]] inline void blobs_by_hand(HandWriter& to) {
  std::uint16_t ends[10];
  std::size_t count = 0;
  for (const auto& blob : ten_blobs()) {
    to.blob(blob.data(), blob.size());
    ends[count++] = static_cast<std::uint16_t>(to.at());
  }
  to.blob(ends, sizeof ends);
}

[[gnu::always_inline]] inline void numbers_by_hand(HandWriter& to) {
  to.blob(thousand_numbers().data(), thousand_numbers().size() * sizeof(std::int32_t));
}

}  // namespace tare::bench
