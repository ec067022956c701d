// File: sealed; fingerprint, counts, texts, then for each type the fields in type_layout.h. LEB128.
#include "core/types/layout_cache.h"

#include "core/binaries/debug_binary.h"
#include "core/symbols/byte_reader.h"
#include "core/symbols/cache_file.h"
#include "core/types/shared_beginnings.h"
#include "trace/base/expansion.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

// Raise the number whenever types are read or kept differently: old caches then count as absent.
constexpr std::string_view kMagic = "TARETYP3";

class Encoder {
 public:
  void number(std::uint64_t value) { put(out_, value); }
  void text(const std::string& value) { put(out_, texts_.number(value)); }
  template <typename Enum>
  void word(Enum value, Enum) {
    put(out_, static_cast<std::uint64_t>(value));
  }
  void flag(bool value) { put(out_, value ? 1 : 0); }
  template <typename List, typename Each>
  void list(const List& all, const Each& each) {
    put(out_, all.size());
    for (const auto& one : all) each(one);
  }
  const std::string& out() const { return out_; }
  const std::vector<std::string_view>& texts() const { return texts_.texts(); }

 private:
  std::string out_;
  StringNumbers texts_;
};

class Decoder {
 public:
  Decoder(ByteReader reader, const std::vector<std::string>& texts, std::size_t file_bytes)
      : reader_(reader), texts_(texts), budget_(trace::ExpansionBudget::of_file(file_bytes)) {}

  template <typename Number>
  void number(Number& value) {
    const std::uint64_t read = reader_.uleb();
    value = static_cast<Number>(read);
    valid_ = valid_ && value == read;
  }
  void text(std::string& value) {
    const std::uint64_t number = reader_.uleb();
    valid_ = valid_ && number < texts_.size() && budget_.take(1, 0, texts_[number].size());
    if (valid_) value = texts_[number];
  }
  template <typename Enum>
  void word(Enum& value, Enum last) {
    const std::uint64_t read = reader_.uleb();
    valid_ = valid_ && read <= static_cast<std::uint64_t>(last);
    if (valid_) value = static_cast<Enum>(read);
  }
  void flag(bool& value) {
    const std::uint64_t read = reader_.uleb();
    valid_ = valid_ && read <= 1;
    value = read == 1;
  }
  template <typename List, typename Each>
  void list(List& all, const Each& each) {
    const std::uint64_t count = reader_.uleb();
    valid_ = valid_ && !reader_.failed() && count <= reader_.left();  // each takes a byte at least
    valid_ = valid_ && budget_.take(count, sizeof(typename List::value_type), 0);
    if (!valid_) return;
    all.resize(count);
    for (auto& one : all) {
      each(one);
      if (!valid_ || reader_.failed()) return;
    }
  }
  bool is_whole() const { return valid_ && !reader_.failed() && reader_.at_end(); }

 private:
  ByteReader reader_;
  const std::vector<std::string>& texts_;
  trace::ExpansionBudget budget_;
  bool valid_ = true;
};

// One list of stored fields for reading and writing.
template <typename Coder, typename Type>
void each_member(Coder& coder, Type& type) {
  coder.text(type.name);
  coder.word(type.kind, TypeKind::Union);
  coder.word(type.language, Language::Other);
  coder.text(type.file);
  coder.number(type.line);
  coder.number(type.size_bytes);
  coder.number(type.align_bytes);
  coder.list(type.fields, [&](auto& field) {
    coder.text(field.name);
    coder.text(field.type);
    coder.word(field.kind, FieldKind::Flexible);
    coder.number(field.offset_bits);
    coder.number(field.size_bits);
    coder.number(field.align_bytes);
  });
  coder.list(type.holes, [&](auto& hole) {
    coder.number(hole.offset_bits);
    coder.number(hole.size_bits);
  });
  coder.number(type.hole_bytes);
  coder.number(type.hole_bits);
  coder.number(type.tail_padding_bits);
  coder.number(type.cache_lines);
  coder.number(type.straddling_fields);
  coder.word(type.order_state, OrderState::NotUnderstood);
  coder.number(type.reordered_bytes);
  coder.list(type.order, [&](auto& field) { coder.number(field); });
  coder.number(type.pointers);
  coder.number(type.narrow_bytes);
  coder.number(type.narrow_reordered_bytes);
  coder.list(type.narrow_order, [&](auto& field) { coder.number(field); });
  coder.flag(type.is_standard_layout);
  coder.flag(type.is_polymorphic);
}

template <typename Coder, typename Of>
void each_part(Coder& coder, Of& layouts) {
  coder.number(layouts.read.units);
  coder.number(layouts.read.definitions);
  coder.number(layouts.read.types);
  coder.text(layouts.dwarf_path);
  coder.list(layouts.types, [&](auto& type) { each_member(coder, type); });
}

}  // namespace

std::string encode_layouts(std::string_view fingerprint, const Layouts& layouts) {
  Encoder encoder;
  each_part(encoder, layouts);
  std::string body;
  put(body, fingerprint);
  put_texts(body, encoder.texts());
  return seal_cache(kMagic, body += encoder.out());
}

std::optional<Layouts> decode_layouts(std::string_view fingerprint, std::string_view file) {
  const std::optional<std::string_view> body = unseal_cache(kMagic, file);
  if (!body) return std::nullopt;
  ByteReader reader(*body);
  if (reader.take(reader.uleb()) != fingerprint) return std::nullopt;
  const std::optional<std::vector<std::string>> texts = take_texts(reader);
  if (!texts) return std::nullopt;
  Decoder decoder(reader, *texts, file.size());
  Layouts layouts;
  each_part(decoder, layouts);
  if (!decoder.is_whole()) return std::nullopt;
  return layouts;
}

Result<Layouts> load_layouts(const fs::path& path, std::span<const fs::path> debug_dirs, const fs::path& cache_dir,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  Result<std::unique_ptr<DebugBinary>> binary = DebugBinary::find(path, debug_dirs);
  if (!binary) return binary.error();
  const BuildId& id = (*binary)->binary().build_id();
  const fs::path file = cache_dir.empty() || id.empty() ? fs::path() : cache_dir / (to_hex(id) + ".types");
  if (!file.empty()) {
    const std::optional<std::string> bytes = read_cache_file(file);
    if (auto known = bytes ? decode_layouts((*binary)->fingerprint(), *bytes) : std::nullopt) return *std::move(known);
  }
  if (Status loaded = (*binary)->load(); !loaded) return loaded.error();
  Layouts layouts;
  layouts.dwarf_path = (*binary)->dwarf_path();
  Result<ReadLayouts> read =
      read_layouts(**binary, [&](TypeLayout&& layout) { layouts.types.push_back(std::move(layout)); }, progress);
  if (!read) return read.error();
  layouts.read = *std::move(read);
  keep_shared_beginnings(layouts.types);
  if (!file.empty() && layouts.read.warnings.empty() && layouts.read.split_units == 0)
    replace_cache_file(file, encode_layouts((*binary)->fingerprint(), layouts));
  return layouts;
}

}  // namespace tare::core
