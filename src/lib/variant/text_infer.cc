// Infers types: the possible types of each value, as a pattern, and of all elements of an array together.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/variant/text_tree.h"

namespace tare::inline TARE_ABI::variant::text_details {
namespace {

constexpr std::string_view kNumberCodes = "ynqiuxthd";
constexpr std::string_view kTextCodes = "sog";

// A set of types: a number of maybes, any higher number if it's open, around `code`: a type's character, or N for any
// number, S for any text, * for any type.
struct Pattern {
  char code;
  bool is_open = false;
  std::uint32_t maybes = 0;
  std::uint32_t first = kNone;  // of arrays, tuples and entries: the parts
  std::uint32_t next = kNone;
};

class Inference {
 public:
  explicit Inference(const Tree& tree) : tree_(tree) {}

  std::optional<ParseError> run(std::uint32_t node, std::string& type) {
    const std::uint32_t pattern = pattern_of(node);
    if (pattern == kNone) return std::move(error_);
    type.clear();
    if (!write(pattern, type)) {
      return ParseError{TextError::CannotInferType, range_of(tree_[node]), std::nullopt, "unable to infer type"};
    }
    return std::nullopt;
  }

 private:
  std::uint32_t add(Pattern pattern) {
    patterns_.push_back(pattern);
    return static_cast<std::uint32_t>(patterns_.size() - 1);
  }
  std::uint32_t fail(ParseError error) {
    error_ = std::move(error);
    return kNone;
  }

  std::uint32_t pattern_of(std::uint32_t node);
  std::uint32_t pattern_of_type(const char*& at);
  // The pattern that fits `node` and all those behind it, `step` apart.
  std::uint32_t common_pattern(std::uint32_t node, std::size_t step);
  std::uint32_t report_conflict(std::uint32_t first, std::uint32_t conflicting, std::size_t step);
  std::uint32_t dictionary_pattern(std::uint32_t node);
  std::uint32_t sibling(std::uint32_t node, std::size_t step) const {
    for (; step > 0 && node != kNone; --step) node = tree_[node].next;
    return node;
  }

  bool unify(std::uint32_t into, std::uint32_t other);
  bool can_unify(std::uint32_t one, std::uint32_t other) const;
  // True if both have the same number and `each` holds for all pairs.
  template <typename Each>
  bool go_through_parts(std::uint32_t one, std::uint32_t other, Each&& each) const {
    for (; one != kNone && other != kNone; one = patterns_[one].next, other = patterns_[other].next) {
      if (!each(one, other)) return false;
    }
    return one == other;
  }
  bool write(std::uint32_t pattern, std::string& type) const;

  const Tree& tree_;
  std::vector<Pattern> patterns_;
  ParseError error_;
};

// The common pattern of both without their parts; `code` is 0 if there's none.
Pattern common(const Pattern& a, const Pattern& b) {
  constexpr Pattern kNothing{.code = 0};
  const std::uint32_t maybes = std::max(a.maybes, b.maybes);
  const auto can_have_more = [&](const Pattern& it) { return it.maybes == maybes || it.is_open || it.code == '*'; };
  if (!can_have_more(a) || !can_have_more(b)) return kNothing;
  const auto is_one_of = [](char open, char code) {
    return (open == 'N' && kNumberCodes.find(code) != std::string_view::npos) ||
           (open == 'S' && kTextCodes.find(code) != std::string_view::npos);
  };
  Pattern result = a.code == '*' ? b : a;
  result.maybes = maybes;
  if (a.code == '*' || b.code == '*') return result;
  result.is_open = a.is_open && b.is_open;
  if (a.code == b.code || is_one_of(b.code, a.code)) return result;
  result.code = b.code;
  return is_one_of(a.code, b.code) ? result : kNothing;
}

// Sets `into` to the common pattern of both; false if there's none. Each step uses up a part of `other`, which is why a
// whole text takes linear time. Half done where it fails.
bool Inference::unify(std::uint32_t into, std::uint32_t other) {
  Pattern& a = patterns_[into];
  const Pattern& b = patterns_[other];
  Pattern result = common(a, b);
  if (result.code == 0) return false;
  const bool have_parts = a.code == b.code;
  result.next = a.next;
  a = result;
  return !have_parts || go_through_parts(a.first, b.first, [this](auto i, auto j) { return unify(i, j); });
}

bool Inference::can_unify(std::uint32_t one, std::uint32_t other) const {
  const Pattern& a = patterns_[one];
  const Pattern& b = patterns_[other];
  if (common(a, b).code == 0) return false;
  return a.code != b.code || go_through_parts(a.first, b.first, [this](auto i, auto j) { return can_unify(i, j); });
}

// Elements from `first` on don't go together, of which `conflicting` is the first that doesn't fit those before it:
// names the first of them that it doesn't fit.
std::uint32_t Inference::report_conflict(std::uint32_t first, std::uint32_t conflicting, std::size_t step) {
  const std::string message = "unable to find a common type";
  const std::uint32_t unfit = pattern_of(conflicting);
  for (std::uint32_t node = first; node != conflicting; node = sibling(node, step)) {
    if (!can_unify(pattern_of(node), unfit)) {
      return fail({TextError::NoCommonType, range_of(tree_[node]), range_of(tree_[conflicting]), message});
    }
  }
  return fail({TextError::NoCommonType, range_of(tree_[conflicting]), std::nullopt, message});
}

std::uint32_t Inference::common_pattern(std::uint32_t node, std::size_t step) {
  const std::uint32_t common = pattern_of(node);
  if (common == kNone) return kNone;
  for (std::uint32_t other = sibling(node, step); other != kNone; other = sibling(other, step)) {
    const std::uint32_t pattern = pattern_of(other);
    if (pattern == kNone) return kNone;
    if (!unify(common, pattern)) return report_conflict(node, other, step);
  }
  return common;
}

std::uint32_t Inference::pattern_of_type(const char*& at) {
  Pattern pattern{.code = 0};
  for (; *at == 'm'; ++at) ++pattern.maybes;
  pattern.code = *at++;
  const std::uint32_t result = add(pattern);
  if (pattern.code == 'a') {
    const std::uint32_t element = pattern_of_type(at);
    patterns_[result].first = element;
  } else if (pattern.code == '(' || pattern.code == '{') {
    std::uint32_t last = kNone;
    while (*at != ')' && *at != '}') {
      const std::uint32_t part = pattern_of_type(at);
      (last == kNone ? patterns_[result].first : patterns_[last].next) = part;
      last = part;
    }
    ++at;
  }
  return result;
}

std::uint32_t Inference::dictionary_pattern(std::uint32_t node) {
  const Node& dictionary = tree_[node];
  std::uint32_t key = kNone;
  std::uint32_t value = kNone;
  if (dictionary.first == kNone) {
    key = add({.code = '*'});
    value = add({.code = '*'});
  } else {
    key = common_pattern(dictionary.first, 2);
    if (key == kNone) return kNone;
    const bool is_basic = std::string_view("bynqiuxthdsogNS").find(patterns_[key].code) != std::string_view::npos;
    if (patterns_[key].maybes > 0 || !is_basic) {
      return fail(
          {TextError::BasicTypeExpected, range_of(dictionary), std::nullopt, "dictionary keys must have basic types"});
    }
    patterns_[key].is_open = false;
    value = pattern_of(tree_[dictionary.first].next);
    if (value == kNone) return kNone;
  }
  patterns_[key].next = value;
  if (dictionary.kind == Node::Kind::Entry) return add({.code = '{', .is_open = true, .first = key});
  const std::uint32_t entry = add({.code = '{', .first = key});
  return add({.code = 'a', .is_open = true, .first = entry});
}

std::uint32_t Inference::pattern_of(std::uint32_t index) {
  const Node& node = tree_[index];
  switch (node.kind) {
    case Node::Kind::Array: {
      const std::uint32_t element = node.first == kNone ? add({.code = '*'}) : common_pattern(node.first, 1);
      return element == kNone ? kNone : add({.code = 'a', .is_open = true, .first = element});
    }
    case Node::Kind::Tuple: {
      const std::uint32_t tuple = add({.code = '(', .is_open = true});
      std::uint32_t last = kNone;
      for (std::uint32_t child = node.first; child != kNone; child = tree_[child].next) {
        const std::uint32_t part = pattern_of(child);
        if (part == kNone) return kNone;
        (last == kNone ? patterns_[tuple].first : patterns_[last].next) = part;
        last = part;
      }
      return tuple;
    }
    case Node::Kind::Dictionary:
    case Node::Kind::Entry:
      return dictionary_pattern(index);
    case Node::Kind::Variant:
      return add({.code = 'v', .is_open = true});
    case Node::Kind::Text:
      return add({.code = 'S', .is_open = true});
    case Node::Kind::Bytes: {
      const std::uint32_t byte = add({.code = 'y'});
      return add({.code = 'a', .is_open = true, .first = byte});
    }
    case Node::Kind::Number: {
      const auto has = [&](std::string_view part) { return node.text.find(part) != std::string_view::npos; };
      const bool is_double = has(".") || (!node.text.starts_with("0x") && has("e")) || has("inf") || has("nan");
      return add({.code = is_double ? 'd' : 'N', .is_open = true});
    }
    case Node::Kind::Bool:
      return add({.code = 'b', .is_open = true});
    case Node::Kind::Maybe: {
      if (node.first == kNone) return add({.code = '*', .maybes = 1});
      const std::uint32_t inside = pattern_of(node.first);
      if (inside != kNone) ++patterns_[inside].maybes;
      return inside;
    }
    case Node::Kind::Typed: {
      const char* at = node.text.data();
      return pattern_of_type(at);
    }
  }
  return kNone;
}

// False where the type stays open.
bool Inference::write(std::uint32_t index, std::string& type) const {
  const Pattern& pattern = patterns_[index];
  if (pattern.code == '*') return false;
  type.append(pattern.maybes, 'm');
  type += pattern.code == 'N' ? 'i' : pattern.code == 'S' ? 's' : pattern.code;
  for (std::uint32_t part = pattern.first; part != kNone; part = patterns_[part].next) {
    if (!write(part, type)) return false;
  }
  if (pattern.code == '(') type += ')';
  if (pattern.code == '{') type += '}';
  return true;
}

}  // namespace

std::optional<ParseError> infer_type(const Tree& tree, std::uint32_t node, std::string& type) {
  return Inference(tree).run(node, type);
}

}  // namespace tare::inline TARE_ABI::variant::text_details
