// Fuzzes AtomTable: any sequence of operations behaves like a map from texts to counts, and any bytes as UTF-16 and
// back.
//
// Input: operations of one byte, some followed by a text: a byte of length (255: a long one, of 256 times the next
// byte) and that many bytes, which are repeated from the start where the input ends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tare/atom_table.h"
#include "tare/static_atoms.h"

namespace {

inline constexpr std::string_view kNames[] = {"div", "span", "a", "", "class", "a static text of many bytes"};
inline constexpr auto& kStatics = tare::static_atoms<kNames>;

void require(bool good) {
  if (!good) std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool is_at_end() const { return at_ >= size_; }
  std::uint8_t byte() { return is_at_end() ? 0 : data_[at_++]; }
  std::string text() {
    std::size_t length = byte();
    if (length == 255) length = std::size_t{byte()} * 256;
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(data_[(at_ + i) % size_]);
    at_ += length;
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

std::u16string as_utf16(const tare::Atom& atom) {
  std::u16string units(atom.copy_utf16(nullptr, 0), u' ');
  require(atom.copy_utf16(units.data(), units.size()) == units.size());
  return units;
}

void check_account(const tare::AtomTable& table, std::size_t held) {
  const tare::AtomTableUse use = table.use();
  require(use.used_atoms == held);
  require(use.total_bytes == use.header_bytes + use.character_bytes + use.padding_bytes + use.free_bytes +
                                 use.unfilled_bytes + use.table_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Input input(data, size);
  tare::AtomTable table({.static_lists = {&kStatics.list}, .unused_threshold = 1U + input.byte()});
  std::map<std::string, std::vector<tare::Atom>> held;
  std::map<std::string, std::vector<tare::SharedHeader*>> shares;
  const auto held_texts = [&] {
    std::size_t count = held.size();
    for (const auto& [text, blocks] : shares) count += held.contains(text) ? 0 : 1;
    return count;
  };
  while (!input.is_at_end()) {
    switch (input.byte() % 8) {
      case 0:
      case 1:
      case 2: {
        const std::string text = input.text();
        tare::Atom atom = table.intern(text);
        require(atom && atom.text() == text && atom.characters()[text.size()] == '\0');
        if (atom.is_static()) break;
        if (const auto found = held.find(text); found != held.end()) require(found->second.front() == atom);
        if (const auto found = shares.find(text); found != shares.end()) {
          require(found->second.front()->characters() == atom.characters());
        }
        held[text].push_back(std::move(atom));
        break;
      }
      case 3: {
        const auto found = held.lower_bound(input.text());
        if (found == held.end()) break;
        require(table.find(found->first) == found->second.front());
        found->second.pop_back();
        if (found->second.empty()) held.erase(found);
        break;
      }
      case 4: {
        const auto found = held.lower_bound(input.text());
        if (found != held.end()) shares[found->first].push_back(found->second.front().share());
        break;
      }
      case 5: {
        if (shares.empty()) break;
        const auto found = shares.begin();
        require(found->second.back()->text() == found->first);
        tare::release_characters(found->second.back()->characters());
        found->second.pop_back();
        if (found->second.empty()) shares.erase(found);
        break;
      }
      case 6: {
        // Bytes as units: what comes back is what went in; and the atom's bytes are its name too.
        const std::string text = input.text();
        std::u16string units;
        for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
          units +=
              static_cast<char16_t>(static_cast<unsigned char>(text[i]) << 8 | static_cast<unsigned char>(text[i + 1]));
        }
        const tare::Atom atom = table.intern(units);
        require(as_utf16(atom) == units && table.intern(atom.text()) == atom);
        static_cast<void>(as_utf16(table.intern(text)));
        break;
      }
      default:
        table.gc();
        check_account(table, held_texts());
        require(table.use().unused_atoms == 0);
    }
  }
  check_account(table, held_texts());
  for (const auto& [text, blocks] : shares) {
    for (tare::SharedHeader* block : blocks) {
      require(block->text() == text);
      block->release();
    }
  }
  held.clear();
  table.gc();
  check_account(table, 0);
  return 0;
}
