// Nodes of names.
#include "core/types/scopes.h"

#include <cstring>

namespace tare::core {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = mix(seed, text.size());
  while (text.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    hash = mix(hash, word);
    text.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  return mix(hash, rest);
}

void Scopes::clear() { nodes_.assign(1, Node{ScopeId::Global, {}, {}, 0}); }

ScopeId Scopes::add(ScopeId parent, std::string_view name, std::string_view suffix) {
  nodes_.push_back({parent, name, suffix, hash_of(name, hash(parent) + suffix.size())});
  return static_cast<ScopeId>(nodes_.size() - 1);
}

std::string Scopes::name(ScopeId scope) const {
  std::vector<const Node*> path;
  for (ScopeId at = scope; at != ScopeId::Global; at = nodes_[static_cast<std::size_t>(at)].parent)
    path.push_back(&nodes_[static_cast<std::size_t>(at)]);
  std::string name;
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    if (!name.empty()) name += "::";
    name += (*node)->name;
    name += (*node)->suffix;
  }
  return name;
}

}  // namespace tare::core
