// The model of a vertex, by numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc::testing {

enum class VertexKind : std::uint8_t { Plain, Big, Mixed, WithDestructor, WithPrefinalizer };

inline constexpr int kNobody = -1;

struct ModelVertex {
  VertexKind kind = VertexKind::Plain;
  std::array<int, 3> strong{kNobody, kNobody, kNobody};
  int wide = kNobody;
  int tagged = kNobody;
  std::uint32_t tag = 0;
  int weak = kNobody;
  int key = kNobody;
  int value = kNobody;
  int aside = kNobody;
  int wide_aside = kNobody;
  int weak_aside = kNobody;
  int maybe = kNobody;
  std::variant<int, int> either{std::in_place_index<0>, 0};  // a number; or a vertex'
  std::vector<int> list;
  std::vector<int> weak_list;
  std::deque<int> queue;
  std::map<int, int> by_weak;
  std::map<int, int> by_strong;
  std::set<int> watched;

  // What it keeps without asking who else lives.
  template <class See>
  void for_each_kept(See&& see) const {
    for (const int edge : strong) see(edge);
    for (const int edge : {wide, tagged, aside, wide_aside, maybe}) see(edge);
    if (either.index() == 1) see(std::get<1>(either));
    for (const int edge : list) see(edge);
    for (const int edge : queue) see(edge);
    for (const auto& [from, to] : by_strong) see(from);
  }
  // key, and what it keeps while it lives.
  template <class See>
  void for_each_ephemeron(See&& see) const {
    if (key != kNobody) see(key, value);
    for (const auto& [from, to] : by_weak) see(from, to);
  }
};

}  // namespace tare::inline TARE_ABI::gc::testing
