#include "tare/gc/heap_statistics.h"

#include <algorithm>
#include <vector>

#include "lib/gc/heap/heap_impl.h"
#include "lib/reporters/json_string.h"

namespace tare::inline TARE_ABI::gc {

namespace {

class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  void add(const char* name, std::size_t number) { member(name) += std::to_string(number); }
  void add_text(const char* name, std::string_view text) { add_json_string(member(name), text); }
  std::string& member(const char* name) {
    if (out_.back() != '{') out_ += ", ";
    add_json_string(out_, name);
    return out_ += ": ";
  }

 private:
  std::string& out_;
};

void add_use(std::string& out, const HeapUse& use) {
  JsonObject object(out);
  object.add("page_bytes", use.page_bytes);
  object.add("pooled_bytes", use.pooled_bytes);
  object.add("discarded_bytes", use.discarded_bytes);
  object.add("live_bytes", use.live_bytes);
  object.add("live_objects", use.live_objects);
  object.add("allocated_bytes", use.allocated_bytes);
  object.add("limit_bytes", use.limit_bytes);
  object.add("collections", use.collections);
  object.add("young_collections", use.young_collections);
  object.add("last_pause_ns", use.last_pause_ns);
  object.add("last_stack_roots", use.last_stack_roots);
  object.add("pauses", use.pauses);
  object.add("paused_ns", use.paused_ns);
  object.add("longest_pause_ns", use.longest_pause_ns);
  object.add("remembered_objects", use.remembered_objects);
  object.add("remembered_parts", use.remembered_parts);
  object.member("is_marking") += use.is_marking ? "true" : "false";
}

void add_cage(std::string& out, const CageUse& use) {
  JsonObject object(out);
  object.add("wanted_bytes", use.wanted_bytes);
  object.add("reserved_bytes", use.reserved_bytes);
  object.add("committed_bytes", use.committed_bytes);
  object.add("used_bytes", use.used_bytes);
  object.add("kept_bytes", use.kept_bytes);
  object.add("largest_free_bytes", use.largest_free_bytes);
  object.add("books_bytes", use.books_bytes);
}

template <class Rows, class Add>
void add_list(std::string& out, const Rows& rows, Add&& add) {
  const char* before = "[";
  for (const auto& row : rows) {
    out += before;
    before = ", ";
    add(row);
  }
  out += rows.empty() ? "[]" : "]";
}

}  // namespace

std::string to_json(const HeapBase& heap) {
  std::vector<TypeUse> types;
  heap.for_each_type([&](const TypeUse& type) { types.push_back(type); });
  std::ranges::sort(types, std::ranges::greater(), &TypeUse::cell_bytes);
  std::vector<SizeUse> sizes;
  for (const SizeUse& size : static_cast<HeapImpl&>(heap.core()).sizes()) {
    if (size.pages != 0) sizes.push_back(size);
  }

  std::string out;
  {
    JsonObject all(out);
    all.add("version", 1);
    add_use(all.member("use"), heap.use());
    add_cage(all.member("cage"), heap.cage_use());
    add_list(all.member("types"), types, [&](const TypeUse& type) {
      JsonObject object(out);
      object.add_text("name", type.name);
      object.add("objects", type.objects);
      object.add("cell_bytes", type.cell_bytes);
    });
    add_list(all.member("sizes"), sizes, [&](const SizeUse& size) {
      JsonObject object(out);
      object.add("cell_bytes", size.cell_bytes);
      object.add("pages", size.pages);
      object.add("page_bytes", size.page_bytes);
      object.add("discarded_bytes", size.discarded_bytes);
      object.add("cells", size.cells);
      object.add("objects", size.objects);
    });
  }
  return out += '\n';
}

}  // namespace tare::inline TARE_ABI::gc
