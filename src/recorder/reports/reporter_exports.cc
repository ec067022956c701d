// The functions that tare/reporter.h finds by name: the recorder's side of reports and pools, in C.
#include "tare/reporter.h"

#include "recorder/reports/report.h"

namespace tare::recorder {
namespace {

void report(std::uintptr_t block, const char* path, std::uint32_t is_on_alloc) {
  if (block == 0 || path == nullptr) return;
  record_report(TARE_HERE, block, path, is_on_alloc != 0 ? ReportTime::OnAlloc : ReportTime::InRound);
}

void clear_reports() { record_clear_reports(TARE_HERE); }

std::uint64_t pool_create(const char* name) { return name == nullptr ? 0 : record_pool_create(TARE_HERE, name); }

void pool_grow(std::uint64_t pool, std::uintptr_t memory, std::size_t bytes) {
  if (memory != 0 && bytes != 0) record_pool_memory(TARE_HERE, pool, memory, bytes);
}

void pool_shrink(std::uint64_t pool, std::uintptr_t memory) {
  if (memory != 0) record_pool_note(TARE_HERE, pool, trace::Op::PoolShrink, memory);
}

void pool_alloc(std::uint64_t pool, std::uintptr_t block, std::size_t bytes) {
  if (block != 0) record_pool_alloc(TARE_HERE, pool, block, bytes);
}

void pool_free(std::uint64_t pool, std::uintptr_t block) {
  if (block != 0) record_pool_note(TARE_HERE, pool, trace::Op::PoolFree, block);
}

void pool_reset(std::uint64_t pool) { record_pool_note(TARE_HERE, pool, trace::Op::PoolReset, 0); }

void pool_destroy(std::uint64_t pool) { record_pool_destroy(TARE_HERE, pool); }

void snapshot(const char* name) { record_snapshot(TARE_HERE, name == nullptr ? "" : name); }

void holders(std::uintptr_t block, std::uint32_t are_several) {
  if (block == 0) return;
  record_holders(TARE_HERE, block, are_several != 0 ? HolderCount::Several : HolderCount::One);
}

void amount(const char* path, std::uint64_t bytes) {
  if (path != nullptr) record_amount(TARE_HERE, path, bytes);
}

}  // namespace
}  // namespace tare::recorder

extern "C" {
__attribute__((visibility("default"))) extern const struct tare_recorder_v1 tare_recorder_v1;

const struct tare_recorder_v1 tare_recorder_v1 = {
    sizeof(struct tare_recorder_v1), 0,
    tare::recorder::report,          tare::recorder::clear_reports,
    tare::recorder::pool_create,     tare::recorder::pool_grow,
    tare::recorder::pool_shrink,     tare::recorder::pool_alloc,
    tare::recorder::pool_free,       tare::recorder::pool_reset,
    tare::recorder::pool_destroy,    tare::recorder::snapshot,
    tare::recorder::holders,         tare::recorder::amount,
};
}
