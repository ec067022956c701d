// A browser's tabs: pages come as tags, attributes and texts, and become documents whose elements know their parent,
// their siblings and their children. The last eight pages stay open. Elements own their first child and next sibling
// by shared_ptr and know the others by pointer; names and texts are strings.
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

class Document;
struct Element;

enum class NodeKind : std::uint32_t { Element, Text };

struct Node {
  Node(NodeKind what, Document* owner) : kind(what), document(owner) {}
  NodeKind kind;
  Document* document;
  Element* parent = nullptr;
  Node* previous = nullptr;
  std::shared_ptr<Node> next;
};

struct Attribute {
  std::string name;
  std::string value;
};

struct Element : Node {
  Element(Document* owner, std::string_view name) : Node(NodeKind::Element, owner), tag(name) {}
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;
  ~Element() {
    while (first != nullptr) first = std::exchange(first->next, nullptr);  // not by recursion from sibling to sibling
  }
  std::shared_ptr<Node> first;
  Node* last = nullptr;
  std::string tag;
  std::vector<Attribute> attributes;
};

struct Text : Node {
  Text(Document* owner, std::string_view text) : Node(NodeKind::Text, owner), characters(text) {}
  std::string characters;
};

class Document {
 public:
  Document() : root_(std::make_shared<Element>(this, "html")) {}

  Element* root() { return root_.get(); }
  Element* append_element(Element* parent, std::string_view tag) {
    auto element = std::make_shared<Element>(this, tag);
    Element* raw = element.get();
    append(parent, std::move(element));
    return raw;
  }
  void append_text(Element* parent, std::string_view characters) {
    append(parent, std::make_shared<Text>(this, characters));
  }
  void set_attribute(Element* element, std::string_view name, std::string_view value) {
    element->attributes.push_back({std::string(name), std::string(value)});
  }

  // The first child of an element becomes its last.
  void rotate(Element* element) {
    std::shared_ptr<Node> moved = std::move(element->first);
    if (moved == nullptr) return;
    element->first = std::move(moved->next);
    if (element->first == nullptr) {
      element->last = nullptr;
    } else {
      element->first->previous = nullptr;
    }
    append(element, std::move(moved));
  }

 private:
  void append(Element* parent, std::shared_ptr<Node> child) {
    child->parent = parent;
    child->previous = parent->last;
    Node* raw = child.get();
    (parent->last == nullptr ? parent->first : parent->last->next) = std::move(child);
    parent->last = raw;
  }

  std::shared_ptr<Element> root_;
};

std::string_view characters_of(const std::string& text) { return text; }

using OpenDocument = std::unique_ptr<Document>;
OpenDocument open_document() { return std::make_unique<Document>(); }

// Of blocks that are in use, with their headers.
std::size_t bytes_in_use() { return mallinfo2().uordblks; }

// The answer of a server: components that repeat, some fourteen levels deep, as a stream of tags, attributes and texts.
class PageSource {
 public:
  PageSource(std::uint32_t page, std::size_t elements) : random_(page), left_(elements) {}

  void send_to(Document& document) {
    Element* body = document.append_element(document.root(), "body");
    while (left_ > 0) section(document, body, 0);
  }

 private:
  static constexpr const char* kTags[] = {"div", "div", "div", "span", "span",   "a",
                                          "li",  "p",   "img", "td",   "button", "section"};
  static constexpr const char* kClasses[] = {
      "card",  "card-title",  "card-body", "row",        "col-md-6", "nav-item active", "btn btn-primary",
      "price", "muted small", "icon",      "list-entry", "hidden"};
  static constexpr const char* kWords[] = {"the",   "of",    "price",  "news",     "today",   "more", "read",
                                           "about", "offer", "market", "and",      "weather", "for",  "team",
                                           "city",  "win",   "share",  "comments", "photo",   "live"};

  void section(Document& document, Element* parent, int depth) {
    if (left_ == 0) return;
    --left_;
    const std::string_view tag = pick(kTags);
    Element* element = document.append_element(parent, tag);
    if (random_() % 4 != 0) document.set_attribute(element, "class", pick(kClasses));
    if (tag == "a") document.set_attribute(element, "href", "/stories/" + std::to_string(random_() % 1000));
    if (tag == "img") {
      document.set_attribute(element, "src", "https://images.example/" + std::to_string(random_() % 300) + ".webp");
      document.set_attribute(element, "loading", "lazy");
      return;
    }
    if (random_() % 12 == 0)
      document.set_attribute(element, "data-track", "component-" + std::to_string(random_() % 40));
    if (random_() % 2 == 0) document.append_text(element, words());
    const auto most = depth < 3 ? 6U : depth < 13 ? 3U : 0U;
    for (auto children = most == 0 ? 0 : random_() % (most + 1); children > 0; --children)
      section(document, element, depth + 1);
    if (random_() % 3 == 0) document.append_text(element, "\n      ");
  }

  template <class List>
  std::string_view pick(const List& list) {
    return list[random_() % std::size(list)];
  }
  std::string words() {
    std::string text;
    for (auto count = 1 + random_() % 9; count > 0; --count) (text += pick(kWords)) += ' ';
    return text;
  }

  std::mt19937 random_;
  std::size_t left_;
};

// How many elements the pages of the web have: 900 half of them, one of a hundred 7,000.
std::vector<std::size_t> page_sizes(std::size_t pages) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> elements(6.8, 0.9);
  std::vector<std::size_t> sizes(pages);
  for (std::size_t& size : sizes) size = 1 + static_cast<std::size_t>(elements(random));
  return sizes;
}

// The work of a style sheet and of a reader: a number to which every name and character contributes.
std::uint64_t look_at(const Element& element) {
  std::uint64_t value = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) value = value * 31 + static_cast<unsigned char>(c);
  };
  add(characters_of(element.tag));
  for (const Attribute& attribute : element.attributes) {
    add(characters_of(attribute.name));
    add(characters_of(attribute.value));
  }
  for (const Node* node = element.first.get(); node != nullptr; node = node->next.get()) {
    if (node->kind == NodeKind::Text) {
      add(characters_of(static_cast<const Text*>(node)->characters));
    } else {
      value = value * 31 + look_at(static_cast<const Element&>(*node));
    }
  }
  return value;
}

// The work of scripts: they move cards.
void rotate_all(Document& document, Element& element) {
  document.rotate(&element);
  for (Node* node = element.first.get(); node != nullptr; node = node->next.get()) {
    if (node->kind == NodeKind::Element) rotate_all(document, static_cast<Element&>(*node));
  }
}

// The bytes of each of so many pages, one a line.
[[gnu::noinline]] int weigh(std::size_t pages) {
  std::uint32_t page = 0;
  for (const std::size_t elements : page_sizes(pages)) {
    const std::size_t before = bytes_in_use();
    OpenDocument document = open_document();
    PageSource(++page, elements).send_to(*document);
    std::printf("%zu\n", bytes_in_use() - before);
  }
  return 0;
}

[[gnu::noinline]] int browse() {
  constexpr std::size_t kPages = 240;
  constexpr std::size_t kTabs = 8;
  std::vector<OpenDocument> tabs(kTabs);
  std::uint64_t answer = 0;
  std::uint32_t page = 0;
  for (const std::size_t elements : page_sizes(kPages)) {
    OpenDocument& tab = tabs[page % kTabs];
    tab = open_document();
    PageSource(++page, elements).send_to(*tab);
    for (int step = 0; step < 3; ++step) {
      answer = answer * 31 + look_at(*tab->root());
      rotate_all(*tab, *tab->root());
    }
  }
  std::printf("%zu pages, answer %016llx\n", kPages, static_cast<unsigned long long>(answer));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--weigh") return weigh(std::strtoul(argv[2], nullptr, 10));
  return browse();
}
