// The arguments of a described function, and the event of its call: see described_call.h.
#include "recorder/foreign/described_call.h"

#include <atomic>

#include "recorder/base/text.h"
#include "recorder/foreign/described.h"
#include "recorder/recorder.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {
namespace {

using trace::AllocApi;
using trace::ForeignFunction;
using trace::ForeignRole;

// No block is larger. A greater size is another argument, which a wrong description names.
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{1} << 46;
std::atomic<bool> noted_wrong_size{false};

// One call: arguments as they came in registers, and what the original returned.
struct Call {
  const Replaced& function;
  const long* arguments;
  long result = 0;

  long argument(std::int8_t which) const { return which < 0 ? 0 : arguments[which]; }
};

void call_original(Call& call) {
  const long* const a = call.arguments;
  call.result = call.function.original(a[0], a[1], a[2], a[3], a[4], a[5]);
}

// A user's description may name another argument: the place that it points to is checked.
void* pointer_at(long place, const ForeignFunction& facts) {
  if (place == 0 || (facts.required != 0 && !probe_readable(static_cast<std::uint64_t>(place)))) return nullptr;
  return *reinterpret_cast<void**>(place);
}

void* perform(const void* context) {
  Call& call = *static_cast<Call*>(const_cast<void*>(context));
  call_original(call);
  const ForeignFunction& facts = call.function.facts;
  if (facts.role != ForeignRole::AllocateInto) return reinterpret_cast<void*>(call.result);
  if (call.result != 0) return nullptr;
  return pointer_at(call.argument(facts.pointer), facts);
}

// Of a call that makes a pool.
void* perform_creation(const void* context) {
  Call& call = *static_cast<Call*>(const_cast<void*>(context));
  call_original(call);
  const ForeignFunction& facts = call.function.facts;
  if (facts.pool >= 0) return reinterpret_cast<void*>(call.argument(facts.pool));
  if (facts.pointer < 0) return reinterpret_cast<void*>(call.result);
  return call.result == 0 ? pointer_at(call.argument(facts.pointer), facts) : nullptr;
}

// The call gave a block that is larger than any can be: once a process, a line about the description.
TARE_COLD void note_wrong_size(const Replaced& function) {
  const ForeignFunction& facts = function.facts;
  if (noted_wrong_size.exchange(true, std::memory_order_relaxed)) return;
  char line[kForeignNoteBytes];
  Text text(line, sizeof line);
  text.add(trace::kForeignNotice).add(function.allocator).add(": ").add(facts.symbol);
  text.add(": argument ").add_number(static_cast<std::uint64_t>(facts.size)).add(" isn't the size of a block");
  Notice notice;
  recorder.leave_notice(notice, recorder.program(), line);
}

std::uint64_t size_of(const Call& call) {
  const ForeignFunction& facts = call.function.facts;
  if (facts.size < 0) {
    const bool has_size = facts.role <= ForeignRole::AllocateInto || facts.role == ForeignRole::Resize;
    return has_size ? kSizeUnknown : 0;
  }
  const auto size = static_cast<std::uint64_t>(call.argument(facts.size));
  return facts.count < 0 ? size : size * static_cast<std::uint64_t>(call.argument(facts.count));
}

std::size_t align_of(const Call& call) {
  const auto align = static_cast<std::uint64_t>(call.argument(call.function.facts.align));
  return (align & (align - 1)) == 0 ? align : 0;
}

ForeignRequest request_of(const Call& call, std::uint64_t bytes) {
  const std::size_t align = align_of(call);
  if (align != 0) return {bytes, align, AllocApi::Memalign, AllocApi::ForeignAligned};
  if (call.function.facts.zeroed != 0) return {bytes, 0, AllocApi::Calloc, AllocApi::ForeignCalloc};
  return {bytes, 0, AllocApi::Malloc, AllocApi::ForeignMalloc};
}

std::uint64_t pool_of(const Call& call) {
  const std::int8_t pool = call.function.facts.pool;
  if (pool >= 0) return static_cast<std::uint64_t>(call.arguments[pool]);
  const std::uint64_t* const current = call.function.pools.current;
  return current == nullptr ? 0 : *current;
}

void record_in_pools(const StartState& here, Call& call, std::uint64_t bytes) {
  const Replaced& function = call.function;
  const ForeignFunction& facts = function.facts;
  const std::uint64_t pool = pool_of(call);
  void* const pointer = reinterpret_cast<void*>(call.argument(facts.pointer));
  const auto parent = static_cast<std::uint64_t>(call.argument(facts.parent));
  switch (facts.role) {
    case ForeignRole::Allocate:
    case ForeignRole::AllocateInto:
      record_block_of_pool(here, function.pools, pool, bytes,
                           facts.size == trace::kSizeOfString ? BlockSize::String : BlockSize::Requested,
                           {perform, &call});
      break;
    case ForeignRole::Resize:
      record_pool_resize(here, function.pools, pool, pointer, bytes, {perform, &call});
      break;
    case ForeignRole::Free:
      record_pool_free(here, pointer, {perform, &call});
      break;
    case ForeignRole::CreatePool:
      record_new_pool(here, function.pools, parent, {perform_creation, &call});
      break;
    case ForeignRole::ResetPool:
      record_end_of_pool(here, pool, PoolEnd::BlocksAndChildren, {perform, &call});
      break;
    case ForeignRole::ClearPool:
      record_end_of_pool(here, pool, PoolEnd::Blocks, {perform, &call});
      break;
    case ForeignRole::DestroyPool:
      record_end_of_pool(here, pool, PoolEnd::All, {perform, &call});
      break;
    case ForeignRole::MovePool:
      record_moved_pool(here, pool, parent, {perform, &call});
      break;
    case ForeignRole::UsableBytes:
      call_original(call);
      break;
  }
}

void record_blocks(const StartState& here, Call& call, std::uint64_t bytes) {
  const Replaced& function = call.function;
  void* const pointer = reinterpret_cast<void*>(call.argument(function.facts.pointer));
  switch (function.facts.role) {
    case ForeignRole::Allocate:
    case ForeignRole::AllocateInto:
      record_foreign_alloc(here, function.heap, request_of(call, bytes), {perform, &call});
      break;
    case ForeignRole::Resize:
      record_foreign_realloc(here, function.heap, pointer, bytes, {perform, &call});
      break;
    case ForeignRole::Free:
      record_foreign_free(here, pointer, {perform, &call});
      break;
    default:
      call_original(call);
      break;
  }
}

}  // namespace

__attribute__((noinline)) long record_described_call(const StartState& here, const Replaced& function,
                                                     const long* arguments) {
  Call call{function, arguments};
  const std::uint64_t bytes = size_of(call);
  if (bytes > kMostBlockBytes && bytes != kSizeUnknown) {
    if (perform(&call) != nullptr && function.facts.role != ForeignRole::Free) note_wrong_size(function);
  } else if (function.pools.has_pools) {
    record_in_pools(here, call, bytes);
  } else {
    record_blocks(here, call, bytes);
  }
  return call.result;
}

}  // namespace tare::recorder
