// Unit by unit: first names and classes, then the classes' layouts, then on to the next with the memory of this one.
#include "core/types/layout_reader.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_set>

#include "core/symbols/line_program.h"
#include "core/types/class_body.h"
#include "core/types/class_layout.h"
#include "core/types/unit_types.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

Language language_of(Dwarf_Die& unit) {
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case 0x002c:  // C17
    case 0x003e:  // C23
      return Language::C;
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x002b:  // C++17
    case 0x002e:  // C++20
    case 0x003a:  // C++23
      return Language::Cxx;
    case DW_LANG_Rust:
      return Language::Rust;
    default:
      return Language::Other;
  }
}

std::string_view text_of(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  const char* text = dwarf_attr(&die, attribute, &found) == nullptr ? nullptr : dwarf_formstring(&found);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// libdw opens the .dwo file that a unit names without checking its type: a FIFO would block this process.
bool has_split_file(Dwarf_Die& skeleton, const std::string& dwarf_path) {
  std::string_view name = text_of(skeleton, DW_AT_dwo_name);
  if (name.empty()) name = text_of(skeleton, DW_AT_GNU_dwo_name);
  if (name.empty()) return false;
  bool found = false;
  for (const fs::path& folder : {fs::path(dwarf_path).parent_path(), fs::path(text_of(skeleton, DW_AT_comp_dir))}) {
    std::error_code none;
    const fs::file_status status = fs::status(folder / name, none);
    if (!fs::exists(status)) continue;
    if (!fs::is_regular_file(status)) return false;
    found = true;
  }
  return found;
}

// A class whose members had unknown types when it was read. It is read again after all units.
struct Deferred {
  Dwarf_Die die;
  std::uint64_t name_hash;
  TypeLayout layout;  // as far as it is known
};

// Declarations that are kept for that; with more of them, such classes stay as they are. 64 MB.
constexpr std::size_t kMostDeclarations = 1'000'000;
constexpr int kMostRounds = 16;

class LayoutReader {
 public:
  LayoutReader(DebugBinary& binary, const std::function<void(TypeLayout&&)>& sink,
               const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : binary_(binary),
        sink_(sink),
        progress_(progress),
        types_(scopes_, names_, book_, [this](const Dwarf_Die& unit) { return is_first_import(unit); }) {}

  Result<ReadLayouts> read() {
    const bool complete = read_units(binary_.dwarf());
    if (!complete && read_.units == 0) {
      return Error{ErrorKind::Corrupt, "debug information of " + binary_.dwarf_path() + " is damaged (" +
                                           dwarf_errmsg(-1) + "): build or install it again"};
    }
    if (!complete) {
      read_.warnings.push_back("debug information of " + binary_.dwarf_path() + " is damaged after " +
                               std::to_string(read_.units) + " units: types of later ones are missing");
    }
    if (missing_split_ > 0) {
      read_.warnings.push_back(std::to_string(missing_split_) + " units of " + binary_.path() +
                               " have their types in .dwo files that aren't where it was built: keep them beside it");
    }
    read_deferred();
    return std::move(read_);
  }

 private:
  bool read_units(Dwarf* dwarf) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t kind = 0;
    Dwarf_Die die;
    for (;;) {
      const int more = dwarf_get_units(dwarf, unit, &unit, &version, &kind, &die, nullptr);
      if (more != 0) return more == 1;
      if (dwarf == binary_.dwarf() && progress_) {
        // Type units of a section of their own begin anew, and that one may be larger.
        done_ = std::min(std::max(done_, dwarf_dieoffset(&die)), binary_.info_bytes());
        progress_(done_, binary_.info_bytes());
      }
      ++read_.units;
      if (kind == DW_UT_skeleton) {
        read_split(unit, die);
      } else {
        read_unit(die, die);
      }
    }
  }

  void read_split(Dwarf_CU* unit, Dwarf_Die skeleton) {
    ++read_.split_units;
    Dwarf_Die split = {};
    if (!has_split_file(skeleton, binary_.dwarf_path()) ||
        dwarf_cu_info(unit, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) != 0 || split.cu == nullptr) {
      ++missing_split_;
      return;
    }
    read_unit(split, split);
    // Type units of the same file, which no skeleton names.
    Dwarf_CU* other = nullptr;
    std::uint8_t kind = 0;
    Dwarf_Die die;
    Dwarf* dwarf = dwarf_cu_getdwarf(split.cu);
    while (dwarf_get_units(dwarf, other, &other, nullptr, &kind, &die, nullptr) == 0) {
      if (kind == DW_UT_type || kind == DW_UT_split_type) read_unit(die, die);
    }
  }

  void read_unit(Dwarf_Die unit, Dwarf_Die lines_die) {
    scopes_.clear();
    names_.clear();
    types_.found().clear();
    book_.trim();
    book_.set_language(language_of(unit));
    lines_die_ = lines_die;
    lines_.reset();
    lines_tried_ = false;
    types_.walk(unit);
    const std::size_t deferred_before = deferred_.size();
    for (const FoundClass& found : types_.found()) take(found);
    if (deferred_.size() == deferred_before || book_.declarations() > kMostDeclarations) book_.forget_declarations();
  }

  void take(const FoundClass& found) {
    ++read_.definitions;
    std::optional<ScopeId> name = found.name;
    if (!name) {
      if (const ScopeId* suggested = names_.find(found.die)) name = *suggested;
    }
    if (!name) return;  // a copy of a named one, or a type without objects
    const TypeFacts facts = book_.facts(found.die);
    if (!facts.is_known) return;
    const std::uint64_t name_hash = scopes_.hash(*name);
    const std::uint64_t key = mix(name_hash, mix(facts.size_bytes, facts.layout_hash));
    if (facts.is_exact) book_.define(name_hash, facts);
    if (!seen_.insert(facts.is_exact ? key : ~key).second) return;
    Dwarf_Die die = found.die;
    const DieAttributes attributes = read_attributes(die);
    const ClassBody body = read_class(die, attributes, book_);
    TypeLayout layout = layout_of(body);
    layout.name = scopes_.name(*name);
    for (std::size_t i = 0; i < body.fields.size(); ++i) {
      const BodyField& field = body.fields[i];
      if (!field.type) continue;
      suggest_name(*field.type, *name, field.name);
      layout.fields[i].type = type_text(*field.type, names_, scopes_);
    }
    layout.line = static_cast<std::uint32_t>(attributes.decl_line);
    layout.file = file(found.die, attributes.decl_file);
    if (facts.is_exact) {
      hand_over(std::move(layout));
    } else {
      deferred_.push_back({found.die, name_hash, std::move(layout)});
    }
  }

  // A type without name is called after the member that it is the type of.
  void suggest_name(Dwarf_Die type, ScopeId owner, std::string_view member) {
    for (int step = 0; step < 8 && dwarf_tag(&type) == DW_TAG_array_type; ++step) {
      const DieAttributes array = read_attributes(type);
      if (!array.type) return;
      type = *array.type;
    }
    if (!is_class_tag(dwarf_tag(&type)) || names_.find(type) != nullptr || dwarf_hasattr(&type, DW_AT_name) != 0)
      return;
    names_.suggest(type, scopes_.add(owner, member.empty() ? "(anonymous)" : member));
  }

  std::string file(const Dwarf_Die& die, std::uint64_t number) {
    // Numbers of other files' units, and of .dwo files, are those of other tables.
    if (number == 0 || die.cu != lines_die_.cu || dwarf_cu_getdwarf(die.cu) != binary_.dwarf()) return {};
    if (!lines_tried_) {
      lines_tried_ = true;
      Dwarf_Attribute attribute;
      Dwarf_Word offset = 0;
      if (dwarf_attr(&lines_die_, DW_AT_stmt_list, &attribute) != nullptr &&
          dwarf_formudata(&attribute, &offset) == 0) {
        lines_ = LineProgram::parse(binary_.line_sections(), offset, text_of(lines_die_, DW_AT_comp_dir));
      }
    }
    return lines_ && number <= UINT32_MAX ? lines_->path(static_cast<std::uint32_t>(number)) : std::string();
  }

  // Classes in classes: each round uses the results of the round before.
  void read_deferred() {
    for (int round = 0; round < kMostRounds && !deferred_.empty(); ++round) {
      book_.forget_known();
      std::vector<Deferred> left;
      const std::size_t before = deferred_.size();
      for (Deferred& each : deferred_) {
        book_.set_language(each.layout.language);
        const TypeFacts facts = book_.facts(each.die);
        if (facts.is_exact) {
          book_.define(each.name_hash, facts);
          hand_over_again(each, facts);
        } else {
          left.push_back(std::move(each));
        }
      }
      deferred_ = std::move(left);
      if (deferred_.size() == before) break;
    }
    for (Deferred& each : deferred_) hand_over(std::move(each.layout));
  }

  void hand_over_again(Deferred& each, const TypeFacts& facts) {
    if (!seen_.insert(mix(each.name_hash, mix(facts.size_bytes, facts.layout_hash))).second) return;
    TypeLayout layout = layout_of(read_class(each.die, read_attributes(each.die), book_));
    layout.name = std::move(each.layout.name);
    layout.file = std::move(each.layout.file);
    layout.line = each.layout.line;
    const std::size_t fields = std::min(layout.fields.size(), each.layout.fields.size());
    for (std::size_t i = 0; i < fields; ++i) layout.fields[i].type = std::move(each.layout.fields[i].type);
    hand_over(std::move(layout));
  }

  void hand_over(TypeLayout layout) {
    ++read_.types;
    sink_(std::move(layout));
  }

  bool is_first_import(const Dwarf_Die& unit) {
    return dwarf_cu_getdwarf(unit.cu) != binary_.dwarf() && imports_.insert(unit.addr).second;
  }

  DebugBinary& binary_;
  const std::function<void(TypeLayout&&)>& sink_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  Dwarf_Off done_ = 0;  // bytes of debug information that were reported to progress_
  ReadLayouts read_;
  Scopes scopes_;
  NameBook names_;
  TypeBook book_;
  UnitTypes types_;
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_set<const void*> imports_;
  std::vector<Deferred> deferred_;
  Dwarf_Die lines_die_{};
  std::optional<LineProgram> lines_;
  bool lines_tried_ = false;
  std::uint64_t missing_split_ = 0;
};

}  // namespace

Result<ReadLayouts> read_layouts(DebugBinary& binary, const std::function<void(TypeLayout&&)>& sink,
                                 const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  return LayoutReader(binary, sink, progress).read();
}

}  // namespace tare::core
