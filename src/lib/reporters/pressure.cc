// Call-backs that give memory back, and the allocator's part in it.
#include <cstddef>

#include "lib/loader/one_of_process.h"
#include "lib/reporters/allocator_functions.h"
#include "lib/reporters/call_back_list.h"
#include "tare/internal/export.h"
#include "tare/memory_pressure.h"

namespace tare::inline TARE_ABI {

TARE_STATE constinit std::atomic<PressureRegistry*> pressure_registry{nullptr};

struct PressureHandle::Books : CallBackList<PressureRegistry::CallBack> {};

PressureHandle::PressureHandle(PressureHandle&& other) noexcept
    : books_(std::move(other.books_)), id_(std::exchange(other.id_, 0)) {}

PressureHandle& PressureHandle::operator=(PressureHandle&& other) noexcept {
  if (this != &other) {
    release();
    books_ = std::move(other.books_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

void PressureHandle::release() noexcept {
  if (id_ == 0) return;
  books_->remove(std::exchange(id_, 0));
  books_.reset();
}

PressureRegistry::PressureRegistry() : books_(std::make_shared<PressureHandle::Books>()) {}

PressureRegistry::~PressureRegistry() { books_->clear(); }

PressureRegistry& PressureRegistry::process() { return one_of_process(pressure_registry); }

PressureHandle PressureRegistry::add(std::string name, CallBack call_back) {
  return {books_, books_->add(std::move(name), std::move(call_back))};
}

std::size_t PressureRegistry::relieve(PressureLevel level) {
  std::size_t freed_bytes = 0;
  books_->for_each(
      [level, &freed_bytes](const std::string&, const CallBack& call_back) { freed_bytes += call_back(level); });
  return freed_bytes;
}

bool give_back_heap() {
  if (Mallctl* const mallctl = find_function<Mallctl>("mallctl")) {
    return mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0) == 0;  // 4096 stands for all
  }
  if (auto* const release = find_function<void()>("MallocExtension_ReleaseFreeMemory")) {
    release();
    return true;
  }
  if (auto* const collect = find_function<void(bool)>("mi_collect")) {
    collect(true);
    return true;
  }
  if (auto* const trim = find_function<int(std::size_t)>("malloc_trim")) {
    trim(0);
    return true;
  }
  return false;
}

}  // namespace tare::inline TARE_ABI
