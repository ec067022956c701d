// The spool's tables: in the file's head, and in regions of their own once they have outgrown it.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>

#include "recorder/base/syscall.h"
#include "recorder/spool/spool.h"

namespace tare::recorder {

namespace {

constexpr std::uint64_t kPage = 4096;

}  // namespace

Tables Spool::tables() {
  using Region = Tables::Region;
  Tables tables{};
  // Another thread may be moving a table. The part that was there before is valid in both places.
  const auto base_of = [this](Region region) { return __atomic_load_n(&area(region).base, __ATOMIC_ACQUIRE); };
  tables.rows = reinterpret_cast<trace::Row*>(base_of(Region::Rows));
  tables.row_count = &header_->row_count;
  tables.modules = reinterpret_cast<trace::ModuleEntry*>(base_of(Region::Modules));
  tables.module_count = &header_->module_count;
  tables.strings = base_of(Region::Strings);
  tables.string_bytes = &header_->string_bytes;
  tables.python = &header_->python;
  tables.exe = header_->exe;
  tables.ensure = [](Tables& held, Region region, std::uint64_t bytes) {
    Spool& spool = *static_cast<Spool*>(held.context);
    if (!spool.ensure(region, bytes)) return false;
    char* const base = spool.area(region).base;
    if (region == Region::Rows) held.rows = reinterpret_cast<trace::Row*>(base);
    if (region == Region::Modules) held.modules = reinterpret_cast<trace::ModuleEntry*>(base);
    if (region == Region::Strings) held.strings = base;
    return true;
  };
  tables.prepare = [](Tables& held, Region region, std::uint64_t bytes) {
    return static_cast<Spool*>(held.context)->prepare(region, bytes);
  };
  tables.context = this;
  return tables;
}

// A mapping of the `bytes` at offset `to` of a file, of which `mapping` maps a part that begins at `from`, before that.
// Null on failure.
char* Spool::map_beyond(char* mapping, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  const std::uint64_t skipped = to - from;
  const long copy = sys::call(SYS_mremap, sys::word(mapping), 0, static_cast<long>(skipped + bytes), MREMAP_MAYMOVE);
  if (sys::failed(copy)) return nullptr;
  sys::munmap(reinterpret_cast<char*>(copy), skipped);
  return reinterpret_cast<char*>(copy) + skipped;
}

// From a page of the head that no child replaces; or by the file's name, if another process hasn't removed it.
char* Spool::map_part(std::uint64_t offset, std::uint64_t bytes) {
  char* const mapping = map_beyond(head_ + trace::kHeadStrings, trace::kHeadStrings, offset, bytes);
  if (mapping != nullptr) return mapping;
  const long fd = sys::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (sys::failed(fd)) return nullptr;
  const long by_name = sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  sys::close(fd);
  return sys::failed(by_name) ? nullptr : reinterpret_cast<char*>(by_name);
}

bool Spool::map_region(Area& area) {
  if (area.region == nullptr) area.region = map_part(area.region_offset, area.region_bytes);
  return area.region != nullptr;
}

// Readers find the table in its region as soon as it has more entries than the head holds, so it is copied before.
bool Spool::move_to_region(Area& area, std::uint64_t bytes) {
  if (!prepare_region(area, bytes)) return false;
  std::memcpy(area.region, area.base, area.ready);
  area.offset = area.region_offset;
  area.capacity = area.region_bytes;
  area.ready = area.region_ready;
  __atomic_store_n(&area.base, area.region, __ATOMIC_RELEASE);
  __atomic_store_n(&area.is_moved, true, __ATOMIC_RELEASE);
  return true;
}

bool Spool::prepare_region(Area& area, std::uint64_t bytes) {
  if (bytes <= area.region_ready) return true;
  const std::uint64_t real = (bytes + kPage - 1) / kPage * kPage;
  if (real > area.region_bytes || !map_region(area)) return false;
  if (make_real(area.region, real, area.region_offset) != 0) return false;
  area.region_ready = real;
  return true;
}

bool Spool::prepare(Tables::Region region, std::uint64_t bytes) {
  Area& table = area(region);
  if (table.is_moved) return ensure(region, bytes);
  return ensure(region, table.head_bytes) && prepare_region(table, bytes);
}

bool Spool::ensure(Tables::Region region, std::uint64_t bytes) {
  Area& wanted = area(region);
  if (bytes <= wanted.ready) return true;
  if (bytes > wanted.capacity) return !wanted.is_moved && move_to_region(wanted, bytes);
  // A table begins with a page and doubles up to its step: most processes end before it has a second one.
  std::uint64_t step = wanted.ready < kPage ? kPage : wanted.ready;
  if (step > wanted.step) step = wanted.step;
  std::uint64_t end = (bytes + step - 1) / step * step;
  if (end > wanted.capacity) end = wanted.capacity;
  if (make_real(wanted.base + wanted.ready, end - wanted.ready, wanted.offset + wanted.ready) != 0) return false;
  wanted.ready = end;
  return true;
}

bool Spool::follow(Tables::Region region, std::uint64_t bytes) {
  Area& table = area(region);
  if (table.is_moved || bytes <= table.head_bytes) return true;
  if (!map_region(table)) return false;
  table.base = table.region;
  table.is_moved = true;
  return true;
}

// Readers find a string that ends in the head there, even if the pool has outgrown it.
bool Spool::take_strings(const char* strings, std::uint64_t bytes) {
  if (!ensure(Tables::Region::Strings, bytes)) return false;
  const Area& pool = area(Tables::Region::Strings);
  std::memcpy(pool.base, strings, bytes);
  if (pool.is_moved) std::memcpy(head_ + trace::kHeadStrings, strings, pool.head_bytes);
  header_->string_bytes.store(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
  return true;
}

char* Spool::begin_string(std::uint64_t bytes) {
  const std::uint32_t offset = header_->string_bytes.load(std::memory_order_relaxed);
  if (!ensure(Tables::Region::Strings, offset + bytes)) return nullptr;
  return area(Tables::Region::Strings).base + offset;
}

trace::StringRef Spool::end_string(std::uint64_t length) {
  const std::uint32_t offset = header_->string_bytes.load(std::memory_order_relaxed);
  const Area& pool = area(Tables::Region::Strings);
  if (pool.is_moved && offset + length <= pool.head_bytes)  // more was begun than is kept
    std::memcpy(head_ + trace::kHeadStrings + offset, pool.base + offset, length);
  header_->string_bytes.store(static_cast<std::uint32_t>(offset + length), std::memory_order_release);
  return {offset, static_cast<std::uint32_t>(length)};
}

}  // namespace tare::recorder
