// A type as the source names it: "const std::string *", "int[4][2]", "void (*)(int)".
#pragma once

#include <string>
#include <unordered_map>

#include "core/types/die.h"
#include "core/types/scopes.h"

namespace tare::core {

// Full names of the types of a unit.
class NameBook {
 public:
  void set(const Dwarf_Die& die, ScopeId scope) { scopes_[die.addr] = scope; }
  // Only where it has no name yet: a type without name is called after its first typedef or member.
  void suggest(const Dwarf_Die& die, ScopeId scope) { scopes_.try_emplace(die.addr, scope); }
  // Null: not a type of this unit.
  const ScopeId* find(const Dwarf_Die& die) const {
    const auto found = scopes_.find(die.addr);
    return found == scopes_.end() ? nullptr : &found->second;
  }
  void clear() { scopes_.clear(); }

 private:
  std::unordered_map<const void*, ScopeId> scopes_;
};

// Types of other units are named without their scopes.
std::string type_text(Dwarf_Die die, const NameBook& names, const Scopes& scopes);

}  // namespace tare::core
