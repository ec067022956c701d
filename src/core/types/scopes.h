// Qualified names on demand: a scope is a node, and a name is joined when it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare::core {

enum class ScopeId : std::uint32_t { Global = 0 };

class Scopes {
 public:
  Scopes() { clear(); }

  // `name` must outlive the scopes. `suffix` follows it: "()" of functions.
  ScopeId add(ScopeId parent, std::string_view name, std::string_view suffix = {});
  // Of equal names equal in all files and runs.
  std::uint64_t hash(ScopeId scope) const { return nodes_[static_cast<std::size_t>(scope)].hash; }
  std::string name(ScopeId scope) const;  // a::b::c
  void clear();

 private:
  struct Node {
    ScopeId parent;
    std::string_view name;
    std::string_view suffix;
    std::uint64_t hash;
  };
  std::vector<Node> nodes_;
};

// Eight bytes a step: names of templates are long.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed);
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace tare::core
