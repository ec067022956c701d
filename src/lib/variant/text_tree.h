// A parsed text as a tree: its tokens with their places, without types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tare/variant/text.h"

namespace tare::inline TARE_ABI::variant::text_details {

inline constexpr std::uint32_t kNone = 0xFFFF'FFFF;

struct Node {
  enum class Kind : std::uint8_t {
    Array,
    Tuple,
    Variant,
    Dictionary,  // its children are keys and values in turn
    Entry,       // two children: an entry that is alone
    Text,
    Bytes,
    Number,
    Bool,
    Maybe,  // no child for nothing
    Typed   // its child has the type `text`
  };
  Kind kind;
  bool is_true = false;
  std::uint32_t begin = 0;  // in the text
  std::uint32_t end = 0;
  std::uint32_t first = kNone;  // child
  std::uint32_t next = kNone;   // sibling
  std::string_view text{};      // of texts and bytes without escapes; of a number as it stands there
};

struct Tree {
  std::vector<Node> nodes;
  std::vector<char> unescaped;  // the target of Node::text if it had escapes
  std::uint32_t root = kNone;
  std::size_t end = 0;  // where the value ended in the text

  const Node& operator[](std::uint32_t index) const { return nodes[index]; }
};

inline TextRange range_of(const Node& node) { return {node.begin, node.end}; }

// The type `text` in a way that it stands before a value: "uint32", not "@u". Empty if it is no such word.
std::string_view type_of_keyword(std::string_view word);

// Reads `text` into `tree`, or returns the error. `text` has no zero.
std::optional<ParseError> read_tree(std::string_view text, Tree& tree);

// The type of a node without a given one, into `type`: the one that fits all, with i and s where several fit.
std::optional<ParseError> infer_type(const Tree& tree, std::uint32_t node, std::string& type);

}  // namespace tare::inline TARE_ABI::variant::text_details
