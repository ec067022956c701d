// The call-backs of a registry, and one pass over them.
#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>

#include "tare/memory_reporter.h"
#include "tare/reporter.h"

namespace tare {
namespace {

constexpr std::string_view kExplicit = "explicit/";

std::size_t usable_size(const void* block, void*) { return ::malloc_usable_size(const_cast<void*>(block)); }

std::size_t told_size(const void* block, void* path) {
  tare_report(block, static_cast<const std::string*>(path)->c_str());
  return usable_size(block, nullptr);
}

}  // namespace

SizeOf::SizeOf() noexcept : SizeOf(usable_size, nullptr) {}

// What one collection gathers. Paths of SizeOfs lie in a list, where they keep their places.
struct ReportSink::Pass {
  std::map<std::string, MemoryReport> by_path;
  std::list<std::string> measured_paths;
  std::vector<std::string> problems;
};

std::string ReportSink::full_path(std::string_view path, ReportKind kind) const {
  std::string full(base_);
  if (!path.empty()) full.append(full.empty() ? "" : "/").append(path);
  if (kind == ReportKind::Other && full.starts_with(kExplicit)) full.erase(0, kExplicit.size());
  return full;
}

void ReportSink::add(std::string_view path, ReportKind kind, ReportUnits units, std::uint64_t amount,
                     std::string_view description) {
  std::string full = full_path(path, kind);
  const auto [place, is_new] = pass_.by_path.try_emplace(full);
  MemoryReport& report = place->second;
  if (is_new) {
    report.path = std::move(full);
    report.kind = kind;
    report.units = units;
    report.description = description;
    report.reports = 0;
  } else if (report.kind != kind || report.units != units) {
    pass_.problems.push_back(report.path + " is reported in two kinds or units; only the first is kept");
    return;
  }
  report.amount += static_cast<std::int64_t>(amount);
  ++report.reports;
}

void ReportSink::block(std::string_view path, const void* block, std::string_view description) {
  if (block != nullptr) heap(path, size_of(path)(block), description);
}

void ReportSink::heap(std::string_view path, std::size_t bytes, std::string_view description) {
  add(path, ReportKind::Heap, ReportUnits::Bytes, bytes, description);
}

void ReportSink::non_heap(std::string_view path, std::size_t bytes, std::string_view description) {
  add(path, ReportKind::NonHeap, ReportUnits::Bytes, bytes, description);
}

void ReportSink::other_bytes(std::string_view path, std::size_t bytes, std::string_view description) {
  add(path, ReportKind::Other, ReportUnits::Bytes, bytes, description);
}

void ReportSink::count(std::string_view path, std::uint64_t now, std::string_view description) {
  add(path, ReportKind::Other, ReportUnits::Count, now, description);
}

void ReportSink::cumulative_count(std::string_view path, std::uint64_t so_far, std::string_view description) {
  add(path, ReportKind::Other, ReportUnits::CumulativeCount, so_far, description);
}

void ReportSink::percentage(std::string_view path, std::uint32_t hundredths, std::string_view description) {
  add(path, ReportKind::Other, ReportUnits::Percentage, hundredths, description);
}

SizeOf ReportSink::size_of(std::string_view path) {
  std::string full = full_path(path, ReportKind::Heap);
  if (pass_.measured_paths.empty() || pass_.measured_paths.back() != full) {
    pass_.measured_paths.push_back(std::move(full));
  }
  return {told_size, &pass_.measured_paths.back()};
}

// Shared by a registry and its handles, so that either may go first.
struct ReporterHandle::Books {
  struct Entry {
    std::uint64_t id;
    std::string path;
    std::function<void(ReportSink&)> report;
  };

  std::mutex collecting;  // held by the thread that collects
  std::mutex mutex;       // for what follows; never held while a call-back runs
  std::condition_variable call_ended;
  std::list<Entry> entries;  // by id
  std::uint64_t last_id = 0;
  std::uint64_t running_id = 0;  // 0: no call-back runs
  std::thread::id running_thread;
};

ReporterHandle::ReporterHandle(ReporterHandle&& other) noexcept
    : books_(std::move(other.books_)), id_(std::exchange(other.id_, 0)) {}

ReporterHandle& ReporterHandle::operator=(ReporterHandle&& other) noexcept {
  if (this != &other) {
    release();
    books_ = std::move(other.books_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

void ReporterHandle::release() noexcept {
  if (id_ == 0) return;
  std::list<Books::Entry> gone;  // its function is destroyed without the lock
  {
    std::unique_lock held(books_->mutex);
    const bool inside = books_->running_id == id_ && books_->running_thread == std::this_thread::get_id();
    // A running call-back's entry stays until it returns: its function is on the stack.
    if (!inside) books_->call_ended.wait(held, [this] { return books_->running_id != id_; });
    const auto entry = std::find_if(books_->entries.begin(), books_->entries.end(),
                                    [this](const Books::Entry& each) { return each.id == id_; });
    if (entry != books_->entries.end()) {
      if (inside) {
        entry->id = 0;  // collect() takes it out
      } else {
        gone.splice(gone.end(), books_->entries, entry);
      }
    }
  }
  id_ = 0;
  books_.reset();
}

ReporterRegistry::ReporterRegistry() : books_(std::make_shared<ReporterHandle::Books>()) {}

ReporterRegistry::~ReporterRegistry() {
  std::list<ReporterHandle::Books::Entry> gone;  // functions may hold handles: destroyed without the lock
  const std::lock_guard held(books_->mutex);
  gone.swap(books_->entries);
}

ReporterRegistry& ReporterRegistry::process() {
  // Never destroyed: what reports to it may be destroyed later than any static object of ours.
  static ReporterRegistry* const registry = new ReporterRegistry;
  return *registry;
}

ReporterHandle ReporterRegistry::add(std::string path, std::function<void(ReportSink&)> report) {
  const std::lock_guard held(books_->mutex);
  const std::uint64_t id = ++books_->last_id;
  books_->entries.push_back({id, std::move(path), std::move(report)});
  return {books_, id};
}

ReporterHandle ReporterRegistry::add(Single single, std::function<std::uint64_t(SizeOf)> amount) {
  std::string path = single.path;
  return add(std::move(path), [single = std::move(single), amount = std::move(amount)](ReportSink& sink) {
    const bool is_memory = single.units == ReportUnits::Bytes;
    const bool is_heap = is_memory && single.kind == ReportKind::Heap;
    sink.add("", is_memory ? single.kind : ReportKind::Other, single.units,
             amount(is_heap ? sink.size_of("") : SizeOf()), single.description);
  });
}

MemorySnapshot ReporterRegistry::collect() {
  ReporterHandle::Books& books = *books_;
  const std::lock_guard one_at_a_time(books.collecting);
  tare_clear_reports();
  MemorySnapshot snapshot;
  snapshot.heap_allocated_bytes = heap_allocated_bytes();  // before this pass takes memory for itself
  ReportSink::Pass pass;
  std::list<ReporterHandle::Books::Entry> gone;
  std::unique_lock held(books.mutex);
  books.running_thread = std::this_thread::get_id();
  for (auto entry = books.entries.begin(); entry != books.entries.end();) {
    books.running_id = entry->id;
    held.unlock();
    ReportSink sink(pass, entry->path);
    entry->report(sink);
    held.lock();
    books.running_id = 0;
    const auto done = entry++;
    if (done->id == 0) gone.splice(gone.end(), books.entries, done);
    books.call_ended.notify_all();
  }
  held.unlock();
  snapshot.problems = std::move(pass.problems);
  for (auto& [path, report] : pass.by_path) snapshot.reports.push_back(std::move(report));
  return snapshot;
}

}  // namespace tare
