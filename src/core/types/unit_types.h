// The classes that one unit defines, with their names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/types/die.h"
#include "core/types/scopes.h"
#include "core/types/type_book.h"
#include "core/types/type_text.h"

namespace tare::core {

struct FoundClass {
  Dwarf_Die die;
  std::optional<ScopeId> name;  // none: a typedef or a member may have named it since
};

class UnitTypes {
 public:
  // `imported` decides if a unit of dwz's common file is walked here.
  UnitTypes(Scopes& scopes, NameBook& names, TypeBook& book, std::function<bool(const Dwarf_Die&)> imported)
      : scopes_(scopes), names_(names), book_(book), imported_(std::move(imported)) {}

  // Outer classes before those in them. Appends.
  void walk(Dwarf_Die unit) { children(unit, ScopeId::Global, Inside::Namespace, 0); }
  std::vector<FoundClass>& found() { return found_; }

 private:
  enum class Inside : std::uint8_t { Namespace, Class, Function };

  // A function has a scope only if a type is found in it: most have none, and names of functions are many.
  struct FunctionScope {
    ScopeId parent;
    Dwarf_Die die;
    std::optional<ScopeId> made;
  };

  void children(Dwarf_Die& parent, ScopeId scope, Inside inside, int depth);
  void take_class(Dwarf_Die& die, ScopeId scope, int depth);
  void take_enumeration(Dwarf_Die& die, ScopeId scope);
  void take_typedef(Dwarf_Die& die, ScopeId scope);
  void take_function(Dwarf_Die& die, ScopeId scope, int depth);
  ScopeId current(ScopeId scope);

  Scopes& scopes_;
  NameBook& names_;
  TypeBook& book_;
  std::function<bool(const Dwarf_Die&)> imported_;
  std::vector<FoundClass> found_;
  std::vector<FunctionScope> functions_;  // that are being walked, outermost first
};

}  // namespace tare::core
