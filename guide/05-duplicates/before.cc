// A style checker reads pages into a tree of elements and counts which selectors match. Each element keeps its tag, its
// class names and its attributes as strings of its own, though a page has some dozens of different ones.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct Attribute {
  std::string name;
  std::string value;
};

struct Element {
  std::string tag;
  std::vector<std::string> classes;
  std::vector<Attribute> attributes;
  std::vector<std::unique_ptr<Element>> children;
};

struct Selector {
  std::string tag;         // empty: any
  std::string class_name;  // empty: any
};

// Reads `<tag class="a b" name="value"> ... </tag>`; text between tags is left out. The page is well formed.
class Reader {
 public:
  explicit Reader(std::string_view page) : page_(page) {}

  std::unique_ptr<Element> element() {
    skip_to('<');
    ++at_;
    auto read = std::make_unique<Element>();
    read->tag = word(" >");
    while (page_[at_] == ' ') {
      ++at_;
      std::string name = word("=");
      at_ += 2;
      std::string value = word("\"");
      ++at_;
      if (name == "class")
        read->classes = split(value);
      else
        read->attributes.push_back({std::move(name), std::move(value)});
    }
    for (;;) {
      skip_to('<');
      if (page_[at_ + 1] == '/') break;
      read->children.push_back(element());
    }
    skip_to('>');
    return read;
  }

 private:
  void skip_to(char c) { at_ = page_.find(c, at_); }
  std::string word(const char* ends) {
    const std::size_t start = at_;
    at_ = page_.find_first_of(ends, at_);
    return std::string(page_.substr(start, at_ - start));
  }
  static std::vector<std::string> split(std::string_view names) {
    std::vector<std::string> parts;
    while (!names.empty()) {
      const std::size_t space = names.find(' ');
      parts.emplace_back(names.substr(0, space));
      names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
    }
    return parts;
  }

  std::string_view page_;
  std::size_t at_ = 0;
};

bool matches(const Selector& selector, const Element& element) {
  if (!selector.tag.empty() && selector.tag != element.tag) return false;
  if (selector.class_name.empty()) return true;
  for (const std::string& name : element.classes) {
    if (name == selector.class_name) return true;
  }
  return false;
}

void count_matches(const Element& element, const std::vector<Selector>& selectors, std::vector<std::size_t>& counts) {
  for (std::size_t i = 0; i < selectors.size(); ++i) counts[i] += matches(selectors[i], element) ? 1 : 0;
  for (const auto& child : element.children) count_matches(*child, selectors, counts);
}

std::string write_page(std::uint64_t seed, int rows) {
  static constexpr const char* kClasses[] = {"article-listing-row",     "article-listing-row--highlighted",
                                             "js-tooltip-anchor",       "u-hidden-on-small-screens",
                                             "product-thumbnail-image", "nav"};
  static constexpr const char* kRoles[] = {"presentation-only", "navigation-landmark", "list"};
  std::uint64_t state = seed;
  const auto below = [&state](std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  };
  std::string page = "<html><body class=\"page-with-sidebar js-enabled\">";
  for (int row = 0; row < rows; ++row) {
    page += std::string("<tr class=\"") + kClasses[below(2)] + "\" data-component-name=\"order-history-table-row\">";
    for (int cell = 0; cell < 4; ++cell)
      page += std::string("<td class=\"") + kClasses[2 + below(4)] + " " + kClasses[2 + below(4)] + "\" role=\"" +
              kRoles[below(3)] + "\">text<em>more</em></td>";
    page += "</tr>";
  }
  return page + "</body></html>";
}

}  // namespace

int main() {
  std::vector<std::unique_ptr<Element>> pages;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) pages.push_back(Reader(write_page(seed, 500)).element());
  const std::vector<Selector> selectors = {
      {"td", "js-tooltip-anchor"}, {"", "article-listing-row"}, {"em", ""}, {"tr", "nav"}};
  std::vector<std::size_t> counts(selectors.size());
  for (int round = 0; round < 10; ++round) {
    for (const auto& page : pages) count_matches(*page, selectors, counts);
  }
  for (std::size_t i = 0; i < selectors.size(); ++i)
    std::printf("%s.%s: %zu\n", selectors[i].tag.c_str(), selectors[i].class_name.c_str(), counts[i]);
}
