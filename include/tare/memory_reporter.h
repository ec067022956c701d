// tare/memory_reporter.h: a program's own account of its memory. The owner of memory reports its bytes under a path.
//
//   class Cache {
//    public:
//     explicit Cache(tare::ReporterRegistry& registry)
//         : reporter_(registry.add("explicit/cache", [this](tare::ReportSink& sink) {
//             sink.block("table", table_, "the hash table");                   // one block of malloc
//             sink.heap("entries", entry_bytes(sink.size_of("entries")), "");  // many, measured one by one
//             sink.non_heap("pages", mapped_bytes_, "what mmap gave");
//             sink.count("entries", count_, "entries that live");
//           })) {}
//    private:
//     tare::ReporterHandle reporter_;  // declared last: gone before what its call-back reads
//   };
//
//   std::puts(tare::to_text(registry.collect()).c_str());   // see tare/memory_snapshot.h
//
// Nothing is counted while the program works. During a collection, a call-back measures block by block, by the
// allocator's own size of the block (SizeOf), never by the requested size: slop belongs to the owner of the block.
// Under `tare run` each block so measured is also reported to the recorder with its path. The recording then shows
// unclaimed blocks and blocks claimed twice (see tare/reporter.h, which does without this library).
//
// Paths are names separated by '/'. Bytes of a path under "explicit/" are part of the one tree whose total is the
// program's memory, and must not be reported anywhere else in it. All else has paths of its own: amounts that aren't
// bytes of memory (count() and similar ones) lose a leading "explicit/".
//
// Link with tare::tare; C++20; needs neither exceptions nor RTTI. The comment of each part lists the threads that may
// call it. After Firefox's memory reporters and about:memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/memory_snapshot.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// Returns the real size of a block of malloc, in bytes. A plain SizeOf calls malloc_usable_size; the one from a
// ReportSink also reports to the recorder. Copies are cheap (two pointers). A measure function takes it by value:
//   std::size_t Table::measure(tare::SizeOf size_of) const { return size_of(slots_) + size_of(this); }
class TARE_API SizeOf {
 public:
  using Function = std::size_t (*)(const void* block, void* context);

  SizeOf() noexcept;
  // Another allocator's notion of size, or a test's.
  SizeOf(Function function, void* context) noexcept : function_(function), context_(context) {}

  // `block` is a result of malloc, new or similar functions, or null, which has 0 bytes. Any other address (into the
  // middle of a block, of static or mapped memory) is a bug, as it is with malloc_usable_size.
  std::size_t operator()(const void* block) const { return block == nullptr ? 0 : function_(block, context_); }

 private:
  Function function_;
  void* context_;
};

// The receiver of a call-back's reports. `path` is taken relative to the path it was registered with; empty means that
// path itself. Amounts reported under one path are added up. Valid, with all its SizeOfs, until the call-back returns;
// for the thread that runs the call-back only.
class TARE_API ReportSink {
 public:
  ReportSink(const ReportSink&) = delete;
  ReportSink& operator=(const ReportSink&) = delete;

  // One block of malloc: the bytes that it takes. Null adds nothing.
  void block(std::string_view path, const void* block, std::string_view description);
  // Bytes in blocks of malloc, measured with size_of(path).
  void heap(std::string_view path, std::size_t bytes, std::string_view description);
  // Bytes that malloc didn't give: mappings.
  void non_heap(std::string_view path, std::size_t bytes, std::string_view description);
  // Bytes that must not be added up with others: already in a path above, shared, or of another process.
  void other_bytes(std::string_view path, std::size_t bytes, std::string_view description);
  // How many there are now.
  void count(std::string_view path, std::uint64_t now, std::string_view description);
  // How many there have been: only grows.
  void cumulative_count(std::string_view path, std::uint64_t so_far, std::string_view description);
  // A share, in hundredths of a percent (10,000 is all).
  void percentage(std::string_view path, std::uint32_t hundredths, std::string_view description);

  // Measures blocks that will be reported by heap() under the same path.
  SizeOf size_of(std::string_view path);

 private:
  friend class ReporterRegistry;
  struct Pass;
  ReportSink(Pass& pass, std::string_view base) : pass_(pass), base_(base) {}
  std::string full_path(std::string_view path, ReportKind kind) const;
  void add(std::string_view path, ReportKind kind, ReportUnits units, std::uint64_t amount,
           std::string_view description);

  Pass& pass_;
  std::string_view base_;
};

// Takes a call-back off the books when it dies. Movable; a default one holds nothing. May outlive its registry.
class TARE_API ReporterHandle {
 public:
  ReporterHandle() noexcept = default;
  ReporterHandle(ReporterHandle&& other) noexcept;
  ReporterHandle& operator=(ReporterHandle&& other) noexcept;
  ~ReporterHandle() { release(); }

  // When this returns the call-back isn't running and won't run again, so that its data may be destroyed. It waits for
  // a collection that is inside this call-back: don't hold a lock that the call-back takes. From inside the call-back
  // itself it doesn't wait. Any thread, once at a time.
  void release() noexcept;
  explicit operator bool() const noexcept { return id_ != 0; }

 private:
  friend class ReporterRegistry;
  struct Books;
  ReporterHandle(std::shared_ptr<Books> books, std::uint64_t id) noexcept : books_(std::move(books)), id_(id) {}

  std::shared_ptr<Books> books_;
  std::uint64_t id_ = 0;
};

// The call-backs of a program, or of a part of it. Every function may be called from any thread. Allocates when made
// and when call-backs are added, and otherwise only during collections.
class TARE_API ReporterRegistry {
 public:
  ReporterRegistry();
  ~ReporterRegistry();  // drops the call-backs; none may be running
  ReporterRegistry(const ReporterRegistry&) = delete;
  ReporterRegistry& operator=(const ReporterRegistry&) = delete;

  // The process's own, made at its first use and never destroyed.
  static ReporterRegistry& process();

  // A call-back that reports any number of paths under `path`. The collecting thread calls it; it must lock its own
  // data. It may add and release call-backs, but not collect.
  [[nodiscard]] ReporterHandle add(std::string path, std::function<void(ReportSink&)> report);

  // One amount under one path. For Heap, `amount` measures with the SizeOf that it gets; for a percentage it gives
  // hundredths. Kinds other than bytes of memory are Other.
  struct Single {
    std::string path;
    ReportKind kind = ReportKind::Heap;
    ReportUnits units = ReportUnits::Bytes;
    std::string description;
  };
  [[nodiscard]] ReporterHandle add(Single single, std::function<std::uint64_t(SizeOf)> amount);

  // Calls every call-back, in the order of their registration, and adds up by path. One collection at a time: a second
  // thread waits for the first. The recorder, if present, drops the reports of the collection before.
  MemorySnapshot collect();

 private:
  std::shared_ptr<ReporterHandle::Books> books_;
};

}  // namespace tare::inline TARE_ABI
