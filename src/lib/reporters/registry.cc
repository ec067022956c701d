// The call-backs of a registry, and one pass over them.
#include <list>
#include <map>
#include <utility>
#include <vector>

#include <malloc.h>

#include "lib/loader/one_of_process.h"
#include "lib/reporters/call_back_list.h"
#include "tare/internal/export.h"
#include "tare/memory_reporter.h"
#include "tare/reporter.h"

namespace tare::inline TARE_ABI {

TARE_STATE constinit std::atomic<ReporterRegistry*> reporter_registry{nullptr};

namespace {

constexpr std::string_view kExplicit = "explicit/";

std::size_t usable_size(const void* block, void*) { return ::malloc_usable_size(const_cast<void*>(block)); }

std::size_t told_size(const void* block, void* path) {
  tare_report(block, static_cast<const std::string*>(path)->c_str());
  return usable_size(block, nullptr);
}

}  // namespace

SizeOf::SizeOf() noexcept : SizeOf(usable_size, nullptr) {}

// State of one collection of reports. Paths of SizeOfs lie in a list, where they keep their places.
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
struct ReporterHandle::Books : CallBackList<std::function<void(ReportSink&)>> {};

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
  books_->remove(std::exchange(id_, 0));
  books_.reset();
}

ReporterRegistry::ReporterRegistry() : books_(std::make_shared<ReporterHandle::Books>()) {}

ReporterRegistry::~ReporterRegistry() { books_->clear(); }

ReporterRegistry& ReporterRegistry::process() { return one_of_process(reporter_registry); }

ReporterHandle ReporterRegistry::add(std::string path, std::function<void(ReportSink&)> report) {
  return {books_, books_->add(std::move(path), std::move(report))};
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
  MemorySnapshot snapshot;
  ReportSink::Pass pass;
  snapshot.heap_allocated_bytes = heap_allocated_bytes();  // before this pass takes memory for itself
  tare_clear_reports();
  books_->for_each([&pass](const std::string& path, const std::function<void(ReportSink&)>& report) {
    ReportSink sink(pass, path);
    report(sink);
  });
  snapshot.problems = std::move(pass.problems);
  for (auto& [path, report] : pass.by_path) snapshot.reports.push_back(std::move(report));
  return snapshot;
}

}  // namespace tare::inline TARE_ABI
