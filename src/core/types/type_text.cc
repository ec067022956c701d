// Declarators from the inside out, as C has them, with the details by which a person recognises the type.
#include "core/types/type_text.h"

#include <optional>

namespace tare::core {
namespace {

constexpr int kMostSteps = 24;           // of pointers to pointers to ...
constexpr int kMostEntries = 300;        // parameters have types with parameters
constexpr std::size_t kMostText = 2000;  // names of templates reach it; longer text is useless

class Writer {
 public:
  Writer(const NameBook& names, const Scopes& scopes) : names_(names), scopes_(scopes) {}

  // `inner` replaces the declared name.
  std::string text(Dwarf_Die die, std::string inner, int steps) {
    if (steps > kMostSteps || inner.size() > kMostText || ++entries_ > kMostEntries) return "...";
    const DieAttributes attributes = read_attributes(die);
    const auto rest = [&](std::string now) {
      return attributes.type ? text(*attributes.type, std::move(now), steps + 1) : with_inner("void", now);
    };
    switch (dwarf_tag(&die)) {
      case DW_TAG_pointer_type:
        // Rust gives its pointers names.
        return attributes.name.empty() ? rest("*" + inner) : with_inner(std::string(attributes.name), inner);
      case DW_TAG_reference_type:
        return rest("&" + inner);
      case DW_TAG_rvalue_reference_type:
        return rest("&&" + inner);
      case DW_TAG_ptr_to_member_type:
        return rest("::*" + inner);
      case DW_TAG_const_type:
        return qualified("const", attributes, std::move(inner), steps);
      case DW_TAG_volatile_type:
        return qualified("volatile", attributes, std::move(inner), steps);
      case DW_TAG_restrict_type:
        return rest(std::move(inner));
      case DW_TAG_atomic_type:
        return qualified("_Atomic", attributes, std::move(inner), steps);
      case DW_TAG_array_type:
        return rest(grouped(inner) + lengths(die));
      case DW_TAG_subroutine_type:
        return rest(grouped(inner) + "(" + parameters(die, steps) + ")");
      default:
        break;
    }
    return with_inner(name(die, attributes), inner);
  }

 private:
  static std::string with_inner(std::string name, const std::string& inner) {
    if (inner.empty()) return name;
    return std::move(name) + (inner.front() == '[' ? "" : " ") + inner;
  }
  static std::string grouped(const std::string& inner) {
    const bool is_pointer = !inner.empty() && (inner.front() == '*' || inner.front() == '&' || inner.front() == ':');
    return is_pointer ? "(" + inner + ")" : inner;
  }

  // const char *, but char *const
  std::string qualified(const char* word, const DieAttributes& attributes, std::string inner, int steps) {
    if (!attributes.type) return with_inner(std::string(word) + " void", inner);
    Dwarf_Die target = *attributes.type;
    if (dwarf_tag(&target) == DW_TAG_pointer_type)
      return text(target, inner.empty() ? word : std::string(word) + " " + inner, steps + 1);
    return std::string(word) + " " + text(target, std::move(inner), steps + 1);
  }

  static std::string lengths(Dwarf_Die& die) {
    std::string text;
    Dwarf_Die child;
    if (!first_child(die, child)) return "[]";
    do {
      if (dwarf_tag(&child) != DW_TAG_subrange_type || text.size() > 200) continue;
      const DieAttributes range = read_attributes(child);
      text += '[';
      if (range.count) {
        text += std::to_string(*range.count);
      } else if (range.upper_bound && *range.upper_bound >= 0) {
        text += std::to_string(static_cast<std::uint64_t>(*range.upper_bound) + 1);
      }
      text += ']';
    } while (next_sibling(child));
    return text.empty() ? "[]" : text;
  }

  std::string parameters(Dwarf_Die& die, int steps) {
    std::string list;
    Dwarf_Die child;
    if (!first_child(die, child)) return list;
    do {
      if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
      if (list.size() > 100) return list + ", ...";
      const DieAttributes parameter = read_attributes(child);
      if (!list.empty()) list += ", ";
      if (parameter.type) list += text(*parameter.type, {}, steps + 1);
    } while (next_sibling(child));
    return list;
  }

  std::string name(Dwarf_Die& die, const DieAttributes& attributes) const {
    if (const ScopeId* scope = names_.find(die)) return scopes_.name(*scope);
    if (!attributes.name.empty()) return std::string(attributes.name.substr(0, kMostText));
    switch (dwarf_tag(&die)) {
      case DW_TAG_union_type:
        return "union {...}";
      case DW_TAG_enumeration_type:
        return "enum {...}";
      default:
        return is_class_tag(dwarf_tag(&die)) ? "struct {...}" : "?";
    }
  }

  const NameBook& names_;
  const Scopes& scopes_;
  int entries_ = 0;
};

}  // namespace

std::string type_text(Dwarf_Die die, const NameBook& names, const Scopes& scopes) {
  std::string text = Writer(names, scopes).text(die, {}, 0);
  if (text.size() > kMostText) text.resize(kMostText);
  return text;
}

}  // namespace tare::core
