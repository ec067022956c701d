"""Writes a C++ file that is hard work for the compiler: regexes, maps of many types, ranges, variants. To stdout."""

import sys

HEADER = """\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
"""

PART = """
namespace part{i} {{
struct Key{i} {{ int a; std::string b; auto operator<=>(const Key{i}&) const = default; }};
template <int N> struct Node {{ std::map<Key{i}, std::vector<std::string>> children; std::unique_ptr<Node<N - 1>> next; }};
template <> struct Node<0> {{ int end; }};
using Value = std::variant<int, double, std::string, Key{i}, std::vector<Key{i}>, std::shared_ptr<Node<{depth}>>>;
int use(const std::string& text) {{
  static const std::regex pattern("([a-z]+){i}([0-9]*)");
  std::smatch match;
  std::map<Key{i}, Value> values;
  std::unordered_map<std::string, std::function<int(const Value&)>> actions;
  for (std::string rest = text; std::regex_search(rest, match, pattern); rest = match.suffix())
    values.emplace(Key{i}{{{i}, match[1].str()}}, match[2].str());
  auto lengths = values | std::views::keys | std::views::filter([](const Key{i}& key) {{ return key.a > {i} / 2; }})
               | std::views::transform([](const Key{i}& key) {{ return key.b.size(); }}) | std::views::take({depth});
  actions["count"] = [](const Value& value) {{
    return std::visit([](const auto& held) {{ return static_cast<int>(sizeof(held)); }}, value); }};
  auto node = std::make_shared<Node<{depth}>>();
  values[Key{i}{{0, "node"}}] = node;
  int sum = 0;
  for (auto length : lengths) sum += static_cast<int>(length);
  for (const auto& [key, value] : values) sum += actions["count"](value);
  std::vector<Key{i}> keys;
  std::ranges::copy(values | std::views::keys, std::back_inserter(keys));
  std::ranges::sort(keys, std::greater<>{{}});
  return std::accumulate(keys.begin(), keys.end(), sum, [](int s, const Key{i}& key) {{ return s + key.a; }});
}}
}}  // namespace part{i}
"""


def main() -> None:
    parts = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print(HEADER)
    for i in range(parts):
        print(PART.format(i=i, depth=4 + i % 5))
    print("int main() { return " + " + ".join(f'part{i}::use("text")' for i in range(parts)) + "; }")


main()
