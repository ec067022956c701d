// File: sealed; fingerprint, then per address (ascending, as differences) its types. LEB128.
#include "core/allocated_types/pointed_cache.h"

#include "core/symbols/byte_reader.h"
#include "core/symbols/cache_file.h"

namespace tare::core {
namespace {

// Raise the number if the rules that find types change: caches with another number count as absent.
constexpr std::string_view kMagic = "TAREPTR1";

}  // namespace

std::string encode_pointed(std::string_view fingerprint, const PointedByAddress& pointed) {
  std::string body;
  put(body, fingerprint);
  put(body, pointed.size());
  std::uint64_t previous = 0;
  for (const auto& [address, types] : pointed) {
    put(body, address - previous);
    previous = address;
    put(body, types.size());
    for (const PointedType& type : types) {
      put(body, std::uint64_t{type.functions_out});
      put(body, std::string_view(type.name));
      put(body, type.size_bytes);
      put(body, std::uint64_t{type.line});
    }
  }
  return seal_cache(kMagic, body);
}

std::optional<PointedByAddress> decode_pointed(std::string_view fingerprint, std::string_view file) {
  const std::optional<std::string_view> body = unseal_cache(kMagic, file);
  if (!body) return std::nullopt;
  ByteReader reader(*body);
  if (reader.take(reader.uleb()) != fingerprint) return std::nullopt;
  PointedByAddress pointed;
  const std::uint64_t addresses = reader.uleb();
  std::uint64_t address = 0;
  for (std::uint64_t i = 0; i < addresses && !reader.failed(); ++i) {
    address += reader.uleb();
    const std::uint64_t count = reader.uleb();
    if (count > reader.left()) return std::nullopt;
    std::vector<PointedType> types(count);
    for (PointedType& type : types) {
      type.functions_out = static_cast<std::uint32_t>(reader.uleb());
      type.name = reader.take(reader.uleb());
      type.size_bytes = reader.uleb();
      type.line = static_cast<std::uint32_t>(reader.uleb());
    }
    pointed.emplace_hint(pointed.end(), address, std::move(types));
  }
  if (reader.failed() || !reader.at_end()) return std::nullopt;
  return pointed;
}

}  // namespace tare::core
