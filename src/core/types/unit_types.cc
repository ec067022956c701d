// Walks namespaces, classes and functions; passes over everything else by its sibling.
#include "core/types/unit_types.h"

#include "core/types/die.h"

namespace tare::core {
namespace {

// Without DW_AT_sibling, each step past an entry walks its children, once for each level: depth times the file's size.
constexpr int kMostScopes = 100;
// Stands for the scope of the innermost function that is being walked, until a type is found there.
constexpr auto kFunction = static_cast<ScopeId>(~0u);

bool has_name(Dwarf_Die& die) { return dwarf_hasattr(&die, DW_AT_name) != 0; }

}  // namespace

ScopeId UnitTypes::current(ScopeId scope) {
  if (scope != kFunction) return scope;
  std::optional<ScopeId> parent;
  for (FunctionScope& function : functions_) {
    if (!function.made) {
      const char* name = dwarf_diename(&function.die);  // follows the declaration
      const ScopeId outer = function.parent == kFunction ? parent.value_or(ScopeId::Global) : function.parent;
      function.made = scopes_.add(outer, name == nullptr ? "?" : name, "()");
    }
    parent = function.made;
  }
  return parent.value_or(ScopeId::Global);
}

void UnitTypes::children(Dwarf_Die& parent, ScopeId scope, Inside inside, int depth) {
  Dwarf_Die child;
  if (depth > kMostScopes || !first_child(parent, child)) return;
  const std::size_t found_before = found_.size();
  bool has_variants = false;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_namespace:
      case DW_TAG_module: {
        const char* name = dwarf_diename(&child);
        children(child, scopes_.add(current(scope), name == nullptr ? "(anonymous namespace)" : name),
                 Inside::Namespace, depth + 1);
        break;
      }
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type:
      case DW_TAG_interface_type:
        take_class(child, current(scope), depth);
        break;
      case DW_TAG_enumeration_type:
        take_enumeration(child, current(scope));
        break;
      case DW_TAG_typedef:
        take_typedef(child, current(scope));
        break;
      case DW_TAG_subprogram:
        if (inside != Inside::Class && dwarf_haschildren(&child) == 1) take_function(child, scope, depth);
        break;
      case DW_TAG_lexical_block:
        if (inside == Inside::Function) children(child, scope, inside, depth + 1);
        break;
      case DW_TAG_variant_part:
        has_variants = true;
        break;
      case DW_TAG_imported_unit: {
        const DieAttributes attributes = read_attributes(child);
        Dwarf_Die unit;
        if (attributes.import && imported_(*attributes.import)) {
          unit = *attributes.import;
          children(unit, ScopeId::Global, Inside::Namespace, depth + 1);
        }
        break;
      }
      default:
        break;
    }
  } while (next_sibling(child));
  // The variants of a Rust enum are classes inside it, and no types of their own.
  if (has_variants) found_.resize(found_before);
}

void UnitTypes::take_class(Dwarf_Die& die, ScopeId scope, int depth) {
  const DieAttributes attributes = read_attributes(die);
  std::optional<ScopeId> name;
  if (attributes.specification) {
    if (const ScopeId* declared = names_.find(*attributes.specification)) {
      name = *declared;
    } else if (const char* text = dwarf_diename(&die)) {
      name = scopes_.add(scope, text);
    }
  } else if (!attributes.name.empty()) {
    name = scopes_.add(scope, attributes.name);
  }
  if (name) names_.set(die, *name);
  const bool is_definition = !attributes.is_declaration && attributes.byte_size && !attributes.signature;
  if (is_definition) {
    found_.push_back({die, name});
  } else if (name) {
    book_.declare(die, scopes_.hash(*name));
  }
  if (dwarf_haschildren(&die) == 1) children(die, name.value_or(scope), Inside::Class, depth + 1);
}

void UnitTypes::take_enumeration(Dwarf_Die& die, ScopeId scope) {
  const std::string_view name = read_attributes(die).name;
  if (!name.empty()) names_.set(die, scopes_.add(scope, name));
}

void UnitTypes::take_typedef(Dwarf_Die& die, ScopeId scope) {
  const DieAttributes attributes = read_attributes(die);
  if (attributes.name.empty()) return;
  const ScopeId name = scopes_.add(scope, attributes.name);
  names_.set(die, name);
  if (!attributes.type) return;
  Dwarf_Die target = *attributes.type;
  if (is_class_tag(dwarf_tag(&target)) && !has_name(target)) names_.suggest(target, name);
}

void UnitTypes::take_function(Dwarf_Die& die, ScopeId scope, int depth) {
  // A type that is defined in an inlined or cloned function is a child of the abstract function.
  if (dwarf_hasattr(&die, DW_AT_abstract_origin) != 0 || dwarf_hasattr(&die, DW_AT_declaration) != 0) return;
  functions_.push_back({scope, die, std::nullopt});
  children(die, kFunction, Inside::Function, depth + 1);
  functions_.pop_back();
}

}  // namespace tare::core
