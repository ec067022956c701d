// Reads a text into a tree by recursive descent, with one token of lookahead and without types.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lib/variant/text_tokens.h"
#include "lib/variant/text_tree.h"

namespace tare::inline TARE_ABI::variant::text_details {
namespace {

struct Keyword {
  std::string_view word;
  std::string_view type;
};
constexpr std::array<Keyword, 13> kKeywords = {{{"boolean", "b"},
                                                {"byte", "y"},
                                                {"int16", "n"},
                                                {"uint16", "q"},
                                                {"int32", "i"},
                                                {"uint32", "u"},
                                                {"handle", "h"},
                                                {"int64", "x"},
                                                {"uint64", "t"},
                                                {"double", "d"},
                                                {"string", "s"},
                                                {"objectpath", "o"},
                                                {"signature", "g"}}};

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The control character that a letter behind a backslash stands for; 0 if it's none of them.
char control_of(char letter) {
  switch (letter) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return 0;
  }
}

class Parser {
 public:
  Parser(std::string_view text, Tree& tree) : text_(text), tokens_(text), tree_(tree) {}

  std::optional<ParseError> run() {
    tree_.root = parse(kDeepest);
    if (tree_.root == kNone) return std::move(error_);
    tree_.end = tokens_.end();
    return std::nullopt;
  }

 private:
  // A value of at most `levels` levels, or kNone and error_ is set.
  std::uint32_t parse(std::size_t levels);
  std::uint32_t parse_children(Node::Kind kind, std::size_t levels);
  std::uint32_t parse_variant(std::size_t levels);
  std::uint32_t parse_dictionary(std::size_t levels);
  std::uint32_t parse_maybe(std::size_t levels);
  std::uint32_t parse_typed(std::size_t levels);
  std::uint32_t parse_quoted(Node::Kind kind);

  std::uint32_t fail(TextError reason, TextRange where, std::string message) {
    error_ = {reason, where, std::nullopt, std::move(message)};
    return kNone;
  }
  bool require(std::string_view token, std::string_view purpose) {
    if (tokens_.consume(token)) return true;
    fail(TextError::UnexpectedToken, tokens_.point(), "expected '" + std::string(token) + "'" + std::string(purpose));
    return false;
  }

  std::uint32_t add(Node::Kind kind) {
    tree_.nodes.push_back({.kind = kind});
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }
  // Appends `child` behind `last`, the child added before, if any.
  void append(std::uint32_t parent, std::uint32_t& last, std::uint32_t child) {
    (last == kNone ? tree_.nodes[parent].first : tree_.nodes[last].next) = child;
    last = child;
  }

  // Writes the character of an escape, which begins behind the backslash at `at`; moves `at` behind it.
  bool unescape(Node::Kind kind, std::string_view token, std::size_t& at);
  bool unescape_unicode(std::string_view token, std::size_t& at, std::size_t digits);

  std::string_view text_;
  Tokens tokens_;
  Tree& tree_;
  ParseError error_;
};

std::uint32_t Parser::parse_children(Node::Kind kind, std::size_t levels) {
  const bool is_tuple = kind == Node::Kind::Tuple;
  const std::uint32_t node = add(kind);
  std::uint32_t last = kNone;
  bool needs_comma = false;
  tokens_.next();
  while (!tokens_.consume(is_tuple ? ")" : "]")) {
    if (needs_comma &&
        !require(",", is_tuple ? " or ')' to follow tuple element" : " or ']' to follow array element")) {
      return kNone;
    }
    const bool is_first = last == kNone;
    const std::uint32_t child = parse(levels - 1);
    if (child == kNone) return kNone;
    append(node, last, child);
    needs_comma = !is_tuple || !is_first;
    if (is_tuple && is_first && !require(",", " after first tuple element")) return kNone;
  }
  return node;
}

std::uint32_t Parser::parse_variant(std::size_t levels) {
  tokens_.next();
  const std::uint32_t node = add(Node::Kind::Variant);
  std::uint32_t last = kNone;
  const std::uint32_t child = parse(levels - 1);
  if (child == kNone || !require(">", " to follow variant value")) return kNone;
  append(node, last, child);
  return node;
}

std::uint32_t Parser::parse_dictionary(std::size_t levels) {
  tokens_.next();
  const std::uint32_t node = add(Node::Kind::Dictionary);
  if (tokens_.consume("}")) return node;
  std::uint32_t last = kNone;
  for (bool is_first = true;; is_first = false) {
    const std::uint32_t key = parse(levels - 1);
    if (key == kNone) return kNone;
    append(node, last, key);
    const bool is_entry = is_first && tokens_.consume(",");
    if (!is_entry &&
        !require(":", is_first ? " or ',' to follow dictionary entry key" : " to follow dictionary entry key"))
      return kNone;
    const std::uint32_t value = parse(levels - 1);
    if (value == kNone) return kNone;
    append(node, last, value);
    if (is_entry) {
      tree_.nodes[node].kind = Node::Kind::Entry;
      return require("}", " at end of dictionary entry") ? node : kNone;
    }
    if (tokens_.consume("}")) return node;
    if (!require(",", " or '}' to follow dictionary entry")) return kNone;
  }
}

std::uint32_t Parser::parse_maybe(std::size_t levels) {
  const std::uint32_t node = add(Node::Kind::Maybe);
  if (tokens_.consume("nothing")) return node;
  if (!tokens_.consume("just")) return fail(TextError::UnknownKeyword, tokens_.range(), "unknown keyword");
  std::uint32_t last = kNone;
  const std::uint32_t child = parse(levels - 1);
  if (child == kNone) return kNone;
  append(node, last, child);
  return node;
}

std::uint32_t Parser::parse_typed(std::size_t levels) {
  const std::string_view token = tokens_.peek();
  std::string_view type;
  if (token[0] == '@') {
    type = token.substr(1);
    std::size_t depth = 0;
    using type_details::Indefinite;
    if (type_details::scan(type, 0, Indefinite::Accepted, depth) != type.size()) {
      return fail(TextError::InvalidTypeString, tokens_.range(), "invalid type declaration");
    }
    if (depth > levels) return fail(TextError::Recursion, tokens_.range(), "type declaration recurses too deeply");
    if (type.find_first_of("*?r") != std::string_view::npos) {
      return fail(TextError::DefiniteTypeExpected, tokens_.range(), "type declarations must be definite");
    }
  } else {
    type = type_of_keyword(token);
    if (type.empty()) return fail(TextError::UnknownKeyword, tokens_.range(), "unknown keyword");
  }
  tokens_.next();
  const std::uint32_t node = add(Node::Kind::Typed);
  tree_.nodes[node].text = type;
  std::uint32_t last = kNone;
  const std::uint32_t child = parse(levels - 1);
  if (child == kNone) return kNone;
  append(node, last, child);
  return node;
}

bool Parser::unescape_unicode(std::string_view token, std::size_t& at, std::size_t digits) {
  ++at;
  char32_t character = 0;
  std::size_t valid = 0;
  for (int digit; valid < digits && at + valid < token.size() && (digit = hex_digit(token[at + valid])) >= 0; ++valid) {
    character = character << 4 | static_cast<char32_t>(digit);
  }
  if (valid != digits || character == 0) {
    const std::size_t begin = tokens_.begin() + at;
    fail(TextError::InvalidCharacter, {begin, begin + valid},
         "invalid " + std::to_string(digits) + "-character unicode escape");
    return false;
  }
  at += digits;
  auto& out = tree_.unescaped;
  const auto add_byte = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    add_byte(character);
  } else if (character < 0x800) {
    add_byte(0xC0 | character >> 6);
    add_byte(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    add_byte(0xE0 | character >> 12);
    add_byte(0x80 | (character >> 6 & 0x3F));
    add_byte(0x80 | (character & 0x3F));
  } else if (character < 0x110000) {
    add_byte(0xF0 | character >> 18);
    add_byte(0x80 | (character >> 12 & 0x3F));
    add_byte(0x80 | (character >> 6 & 0x3F));
    add_byte(0x80 | (character & 0x3F));
  } else {
    add_byte(0xFF);  // beyond Unicode: no UTF-8, which is found when it's written
  }
  return true;
}

bool Parser::unescape(Node::Kind kind, std::string_view token, std::size_t& at) {
  auto& out = tree_.unescaped;
  const char letter = token[at];
  if (kind == Node::Kind::Text && (letter == 'u' || letter == 'U')) {
    return unescape_unicode(token, at, letter == 'u' ? 4 : 8);
  }
  if (kind == Node::Kind::Bytes && letter >= '0' && letter <= '7') {
    unsigned byte = 0;
    for (int i = 0; i < 3 && at < token.size() && token[at] >= '0' && token[at] <= '7'; ++i) {
      byte = byte << 3 | static_cast<unsigned>(token[at++] - '0');
    }
    out.push_back(static_cast<char>(byte));
    return true;
  }
  ++at;
  if (letter == '\n') return true;  // the text goes on in the next line
  const char control = control_of(letter);
  out.push_back(control != 0 ? control : letter);
  return true;
}

std::uint32_t Parser::parse_quoted(Node::Kind kind) {
  const std::string_view token = tokens_.peek();
  std::size_t at = kind == Node::Kind::Bytes ? 2 : 1;
  const char quote = token[at - 1];
  const std::size_t begin = at;
  auto& unescaped = tree_.unescaped;
  std::size_t unescaped_begin = 0;
  bool has_escapes = false;
  while (at < token.size() && token[at] != quote) {
    if (token[at] == '\\') {
      if (!has_escapes) {
        has_escapes = true;
        unescaped.reserve(text_.size());  // once: references to it must stay valid
        unescaped_begin = unescaped.size();
        unescaped.insert(unescaped.end(), token.begin() + static_cast<std::ptrdiff_t>(begin),
                         token.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (++at == token.size()) break;
      if (!unescape(kind, token, at)) return kNone;
    } else {
      if (has_escapes) unescaped.push_back(token[at]);
      ++at;
    }
  }
  if (at == token.size()) {
    return fail(TextError::UnterminatedString, tokens_.range(), "unterminated string constant");
  }
  const std::uint32_t node = add(kind);
  tree_.nodes[node].text =
      has_escapes ? std::string_view(unescaped.data() + unescaped_begin, unescaped.size() - unescaped_begin)
                  : token.substr(begin, at - begin);
  tokens_.next();
  return node;
}

std::uint32_t Parser::parse(std::size_t levels) {
  if (levels == 0) return fail(TextError::Recursion, tokens_.point(), "variant nested too deeply");
  const std::size_t begin = tokens_.begin();
  const std::string_view token = tokens_.peek();
  const char first = token.empty() ? '\0' : token[0];
  const char second = token.size() < 2 ? '\0' : token[1];
  std::uint32_t node = kNone;
  if (first == '[') {
    node = parse_children(Node::Kind::Array, levels);
  } else if (first == '(') {
    node = parse_children(Node::Kind::Tuple, levels);
  } else if (first == '<') {
    node = parse_variant(levels);
  } else if (first == '{') {
    node = parse_dictionary(levels);
  } else if (token == "true" || token == "false") {
    node = add(Node::Kind::Bool);
    tree_.nodes[node].is_true = first == 't';
    tokens_.next();
  } else if (is_digit(first) || first == '-' || first == '+' || first == '.' || token == "inf" || token == "nan") {
    node = add(Node::Kind::Number);
    tree_.nodes[node].text = token;
    tokens_.next();
  } else if (first == 'n' || first == 'j') {
    node = parse_maybe(levels);
  } else if (first == '@' || (is_letter(first) && is_letter(second))) {
    node = parse_typed(levels);
  } else if (first == '\'' || first == '"') {
    node = parse_quoted(Node::Kind::Text);
  } else if (first == 'b' && (second == '\'' || second == '"')) {
    node = parse_quoted(Node::Kind::Bytes);
  } else {
    return fail(TextError::ValueExpected, tokens_.point(), "expected value");
  }
  if (node == kNone) return kNone;
  tree_.nodes[node].begin = static_cast<std::uint32_t>(begin);
  tree_.nodes[node].end = static_cast<std::uint32_t>(tokens_.end());
  return node;
}

}  // namespace

std::string_view type_of_keyword(std::string_view word) {
  const auto* found =
      std::find_if(kKeywords.begin(), kKeywords.end(), [&](const Keyword& it) { return it.word == word; });
  return found == kKeywords.end() ? std::string_view() : found->type;
}

std::optional<ParseError> read_tree(std::string_view text, Tree& tree) { return Parser(text, tree).run(); }

}  // namespace tare::inline TARE_ABI::variant::text_details
