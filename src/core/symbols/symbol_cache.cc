// File: magic, checksum of the rest, fingerprint, strings, then per address (ascending, as differences) its frames.
// LEB128.
#include "core/symbols/symbol_cache.h"

#include <string>

#include "core/symbols/byte_reader.h"
#include "core/symbols/cache_file.h"
#include "trace/base/expansion.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

// Raise the number whenever names are made differently: old caches then count as absent.
constexpr std::string_view kMagic = "TARESYM1";

constexpr std::size_t kLeastFrameBytes = 6;

}  // namespace

fs::path default_symbol_cache_dir() { return default_cache_dir("symbols"); }

fs::path symbol_cache_path(const fs::path& dir, const BuildId& id) { return dir / (to_hex(id) + ".symbols"); }

std::string encode_symbol_cache(std::string_view fingerprint, const ResolvedFrames& frames) {
  StringNumbers strings;
  std::string entries;
  std::uint64_t previous = 0;
  put(entries, frames.size());
  for (const auto& [address, stack] : frames) {
    put(entries, address - previous);
    previous = address;
    put(entries, stack.size());
    for (const Frame& frame : stack) {
      put(entries, strings.number(frame.linkage_name));
      put(entries, strings.number(frame.function));
      put(entries, strings.number(frame.clone));
      put(entries, strings.number(frame.file));
      put(entries, frame.line ? std::uint64_t{*frame.line} + 1 : 0);
      put(entries, static_cast<std::uint64_t>(frame.kind));
    }
  }
  std::string body;
  put(body, fingerprint);
  put_texts(body, strings.texts());
  body += entries;
  return seal_cache(kMagic, body);
}

std::optional<ResolvedFrames> decode_symbol_cache(std::string_view bytes, std::string_view fingerprint) {
  const std::optional<std::string_view> body = unseal_cache(kMagic, bytes);
  if (!body) return std::nullopt;
  ByteReader reader(*body);
  if (reader.take(reader.uleb()) != fingerprint) return std::nullopt;
  const std::optional<std::vector<std::string>> strings = take_texts(reader);
  if (!strings) return std::nullopt;
  // A text may be referred to by all frames.
  trace::ExpansionBudget budget = trace::ExpansionBudget::of_file(bytes.size());
  bool valid = true;
  const auto text = [&]() -> std::string {
    const std::uint64_t number = reader.uleb();
    if (number < strings->size() && budget.take(1, 0, (*strings)[number].size())) return (*strings)[number];
    valid = false;
    return {};
  };

  ResolvedFrames frames;
  std::uint64_t address = 0;
  const std::uint64_t entry_count = reader.uleb();
  for (std::uint64_t i = 0; i < entry_count && valid && !reader.failed(); ++i) {
    address += reader.uleb();
    const std::uint64_t depth = reader.uleb();
    if (depth > reader.left() / kLeastFrameBytes || !budget.take(depth, sizeof(Frame), 0)) return std::nullopt;
    std::vector<Frame> stack(depth);
    for (Frame& frame : stack) {
      frame.linkage_name = text();
      frame.function = text();
      frame.clone = text();
      frame.file = text();
      if (const std::uint64_t line = reader.uleb(); line != 0) frame.line = static_cast<std::uint32_t>(line - 1);
      const std::uint64_t kind = reader.uleb();
      valid = valid && kind <= static_cast<std::uint64_t>(FrameKind::Inlined);
      frame.kind = static_cast<FrameKind>(kind);
    }
    frames.emplace_hint(frames.end(), address, std::move(stack));
  }
  if (!valid || reader.failed() || !reader.at_end()) return std::nullopt;
  return frames;
}

std::optional<ResolvedFrames> load_symbol_cache(const fs::path& file, std::string_view fingerprint) {
  const std::optional<std::string> bytes = read_cache_file(file);
  if (!bytes) return std::nullopt;
  return decode_symbol_cache(*bytes, fingerprint);
}

void save_symbol_cache(const fs::path& file, std::string_view fingerprint, const ResolvedFrames& frames) {
  std::string bytes;
  if (std::optional<ResolvedFrames> merged = load_symbol_cache(file, fingerprint)) {
    for (const auto& [address, stack] : frames) merged->insert_or_assign(address, stack);
    bytes = encode_symbol_cache(fingerprint, *merged);
  } else {
    bytes = encode_symbol_cache(fingerprint, frames);
  }
  replace_cache_file(file, bytes);
}

}  // namespace tare::core
