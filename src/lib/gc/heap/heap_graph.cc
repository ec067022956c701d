#include "tare/gc/heap_graph.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/threads/locks.h"
#include "tare/internal/source_location.h"

namespace tare::inline TARE_ABI::gc {

namespace {

constexpr std::uint32_t kCrossThread = 1U << 31;

// The beginning of the file. It is written last, so that an unfinished file has no nodes.
struct GraphHeader {
  char magic[8] = {'T', 'A', 'R', 'E', 'G', 'C', 'G', '1'};
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t roots = 0;
  std::uint64_t types = 0;
  std::uint64_t name_bytes = 0;
  std::uint64_t taken_ns = 0;
  std::uint64_t places = 0;
};
static_assert(sizeof(GraphHeader) == 64);

// A file that is written from the beginning to the end, through 64 KiB.
class GraphFile {
 public:
  explicit GraphFile(const char* path) noexcept
      : file_(::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}  // NOLINT: open is variadic
  ~GraphFile() {
    if (file_ >= 0) ::close(file_);
  }
  GraphFile(const GraphFile&) = delete;
  GraphFile& operator=(const GraphFile&) = delete;

  bool is_open() const noexcept { return file_ >= 0; }
  bool is_good() const noexcept { return is_good_; }

  void add(const void* bytes, std::size_t count) noexcept {
    const auto* from = static_cast<const char*>(bytes);
    while (count > 0) {
      const std::size_t part = std::min(count, sizeof(buffer_) - used_);
      std::memcpy(buffer_ + used_, from, part);
      used_ += part;
      from += part;
      count -= part;
      if (used_ == sizeof(buffer_)) flush();
    }
  }
  template <class T>
  void add(const T& value) noexcept {
    add(&value, sizeof(value));
  }
  void flush() noexcept {
    const char* from = buffer_;
    while (used_ > 0 && is_good_) {
      const ssize_t written = ::write(file_, from, used_);
      if (written < 0 && errno == EINTR) continue;
      is_good_ = written > 0;
      if (!is_good_) break;
      from += written;
      used_ -= static_cast<std::size_t>(written);
    }
    used_ = 0;
  }
  void rewrite_begin(const GraphHeader& header) noexcept {
    flush();
    is_good_ = is_good_ && ::pwrite(file_, &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header));
  }

 private:
  int file_;
  bool is_good_ = true;
  std::size_t used_ = 0;
  char buffer_[std::size_t{64} << 10];
};

std::uint64_t now_since_1970_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// A root with its source location.
struct LocatedRoot {
  SourceLocation where;
  std::uint32_t root;
};

int compare(const SourceLocation& a, const SourceLocation& b) noexcept {
  if (a.line() != b.line()) return a.line() < b.line() ? -1 : 1;
  const int by_file = std::strcmp(a.file_name(), b.file_name());
  return by_file != 0 ? by_file : std::strcmp(a.function_name(), b.function_name());
}

}  // namespace

// The heap's objects by their places, and their edges.
class GraphWriter {
 public:
  GraphWriter(HeapImpl& heap, GraphFile& file) noexcept : heap_(heap), space_(heap.space()), file_(file) {}

  GraphError write() noexcept {
    heap_.for_each_object([&](std::uintptr_t object, std::size_t) { granules_.push(space_.granule_of(object)); });
    if (granules_.size() >= kCrossThread) return GraphError::TooLarge;
    std::sort(granules_.begin(), granules_.end());
    header_.nodes = granules_.size();
    header_.taken_ns = now_since_1970_ns();
    file_.add(GraphHeader{});
    write_nodes();
    write_names();
    write_roots();
    if (!write_edges()) return GraphError::TooLarge;
    write_places();
    if (file_.is_good()) file_.rewrite_begin(header_);
    return file_.is_good() ? GraphError::None : GraphError::CannotWrite;
  }

 private:
  static std::uint32_t type_of(std::uintptr_t object) noexcept {
    return header_of(reinterpret_cast<const void*>(object)).type();
  }

  void write_nodes() noexcept {
    std::uint32_t most = 0;
    for (const std::uint32_t granule : granules_) {
      const std::uint32_t type = type_of(space_.object_at(granule));
      file_.add(type);
      most = std::max(most, type);
    }
    header_.types = std::uint64_t{most} + 1;
    for (const std::uint32_t granule : granules_) file_.add(granule);
    for (const std::uint32_t granule : granules_) {
      const Page& page = space_.page_around(space_.object_at(granule));
      file_.add(std::uint64_t{page.kind == Page::Kind::Large ? page.run_bytes : page.cell_bytes});
    }
  }

  void write_names() noexcept {
    std::uint32_t end = 0;
    for (std::size_t type = 0; type < header_.types; ++type) {
      end += static_cast<std::uint32_t>(types_by_index[type].name.size());
      file_.add(end);
    }
    for (std::size_t type = 0; type < header_.types; ++type) {
      file_.add(types_by_index[type].name.data(), types_by_index[type].name.size());
    }
    header_.name_bytes = end;
    constexpr char kZeros[8] = {};
    file_.add(kZeros, (8 - (header_.name_bytes + 4 * header_.types) % 8) % 8);
  }

  void write_roots() noexcept {
    const auto add = [&](const void* root, std::uint32_t flag) {
      const std::uint32_t node = node_of(heap_.object_around(reinterpret_cast<std::uintptr_t>(root)));
      if (node == kNone) return false;
      file_.add(node | flag);
      ++header_.roots;
      return true;
    };
    const auto add_all = [&](const auto& strong, const auto& located, std::uint32_t flag) {
      strong.for_each([&](const void* root) { add(root, flag); });
      located.for_each_located([&](const void* root, const SourceLocation& where) {
        if (add(root, flag)) located_.push({where, static_cast<std::uint32_t>(header_.roots - 1)});
      });
    };
    add_all(heap_.roots(RootKind::Strong), heap_.roots(RootKind::Located), 0);
    const Lock lock(locks().cross_roots);
    add_all(heap_.cross_roots(RootKind::Strong), heap_.cross_roots(RootKind::Located), kCrossThread);
  }

  void write_places() noexcept {
    if (located_.empty()) return;
    std::sort(located_.begin(), located_.end(),
              [](const LocatedRoot& a, const LocatedRoot& b) { return compare(a.where, b.where) < 0; });
    Rows<std::uint32_t> place_of;
    for (std::uint64_t root = 0; root < header_.roots; ++root) place_of.push(kNone);
    Rows<SourceLocation> places;
    for (const LocatedRoot& located : located_) {
      if (places.empty() || compare(places[places.size() - 1], located.where) != 0) places.push(located.where);
      place_of[located.root] = static_cast<std::uint32_t>(places.size() - 1);
    }
    header_.places = places.size();
    file_.add(place_of.begin(), place_of.size() * sizeof(std::uint32_t));
    for (const SourceLocation& place : places) file_.add(static_cast<std::uint32_t>(place.line()));
    const auto for_each_text = [&](auto&& each) {
      for (const SourceLocation& place : places) {
        for (const char* text : {place.file_name(), place.function_name()}) each(text, std::strlen(text));
      }
    };
    std::uint32_t end = 0;
    for_each_text([&](const char*, std::size_t length) { file_.add(end += static_cast<std::uint32_t>(length)); });
    for_each_text([&](const char* text, std::size_t length) { file_.add(text, length); });
  }

  // Twice over all objects: ends come before edges, and ephemerons' values belong to others than those that name them.
  bool write_edges() noexcept {
    Rows<std::uint32_t> list;
    Marker marker(heap_, list, Marker::Sharing::None);
    Rows<std::uint32_t> edges;
    const auto edges_of = [&](std::uint32_t granule) {
      edges.set_size(0);
      marker.name_edges(space_.object_at(granule), edges, pairs_);
    };
    for (const std::uint32_t granule : granules_) edges_of(granule);
    std::sort(pairs_.begin(), pairs_.end(),
              [](const Marker::KeyAndValue& a, const Marker::KeyAndValue& b) { return a.key < b.key; });
    const std::size_t pair_count = pairs_.size();
    std::size_t pair = 0;
    const auto each_edge = [&](std::uint32_t granule, auto&& each) {
      edges_of(granule);
      pairs_.set_size(pair_count);  // they are known
      for (const std::uint32_t edge : edges) {
        if (const std::uint32_t node = node_of(space_.object_at(edge)); node != kNone) each(node);
      }
      while (pair < pair_count && pairs_[pair].key < granule) ++pair;
      for (; pair < pair_count && pairs_[pair].key == granule; ++pair) {
        if (const std::uint32_t node = node_of(space_.object_at(pairs_[pair].value)); node != kNone) each(node);
      }
    };
    std::uint64_t end = 0;
    for (const std::uint32_t granule : granules_) {
      each_edge(granule, [&](std::uint32_t) { ++end; });
      if (end > UINT32_MAX) return false;
      file_.add(static_cast<std::uint32_t>(end));
    }
    header_.edges = end;
    pair = 0;
    for (const std::uint32_t granule : granules_) each_edge(granule, [&](std::uint32_t node) { file_.add(node); });
    return true;
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t node_of(std::uintptr_t object) noexcept {
    if (object == 0) return kNone;
    const std::uint32_t granule = space_.granule_of(object);
    const std::uint32_t* found = std::lower_bound(granules_.begin(), granules_.end(), granule);
    return found != granules_.end() && *found == granule ? static_cast<std::uint32_t>(found - granules_.begin())
                                                         : kNone;
  }

  HeapImpl& heap_;
  Space& space_;
  GraphFile& file_;
  GraphHeader header_;
  Rows<std::uint32_t> granules_;
  Rows<Marker::KeyAndValue> pairs_;
  Rows<LocatedRoot> located_;
};

const char* describe(GraphError error) noexcept {
  switch (error) {
    case GraphError::None:
      return "no error";
    case GraphError::CannotCollect:
      return "the heap can't be collected now, which a snapshot begins with";
    case GraphError::CannotOpen:
      return "the file can't be made";
    case GraphError::CannotWrite:
      return "the file can't be written";
    case GraphError::TooLarge:
      break;
  }
  return "more objects or edges than a snapshot has numbers for";
}

GraphError write_graph(HeapBase& heap, const char* path, StackState stack) noexcept {
  auto& impl = static_cast<HeapImpl&>(heap.core());
  const std::size_t before = heap.use().collections;
  heap.collect(stack);
  if (heap.use().collections == before) return GraphError::CannotCollect;
  heap.finish_sweeping();
  GraphFile file(path);
  if (!file.is_open()) return GraphError::CannotOpen;
  return GraphWriter(impl, file).write();
}

}  // namespace tare::inline TARE_ABI::gc
