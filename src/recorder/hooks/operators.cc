// operator new and delete. libstdc++'s and libc++'s call malloc and free, which are recorded: their symbols here are
// bare jumps through a table, so that no frame of ours shows in a stack. Where an allocator brings its own, the table
// leads to a hook that records the operator itself.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recorder/base/address.h"
#include "recorder/events/failed_request.h"
#include "recorder/events/nested.h"
#include "recorder/events/record.h"
#include "recorder/hooks/operators.h"
#include "recorder/hooks/real.h"
#include "recorder/hooks/suppression.h"
#include "recorder/unwind/definitions.h"

extern "C" __attribute__((weak)) void __cxa_pure_virtual();  // in every C++ library

namespace tare::recorder {
namespace {

using trace::AllocApi;
using trace::FreeApi;

enum Operator : int {
#define TARE_NEW(symbol, api, form) k##symbol,
#define TARE_DELETE(symbol, api) k##symbol,
#include "recorder/hooks/operators.def"
  kOperators
};

const char* const kSymbols[] = {
#define TARE_NEW(symbol, api, form) #symbol,
#define TARE_DELETE(symbol, api) #symbol,
#include "recorder/hooks/operators.def"
};

using AnyFunction = void (*)();
AnyFunction real_operators[kOperators];
const void* operators_object[kOperators];  // where each real one lies
bool may_be_unloaded[kOperators];
AnyFunction look_ups[kOperators];  // the first contents of each slot

// An operator in malloc's own object goes straight to the heap; anyone else's may well call malloc.
TARE_INLINE bool is_allocators_own(Operator which) { return operators_object[which] == allocator.base; }

// A call of a recorded operator, in the frame of its hook. The constructor stores member by member: the compiler copies
// an aggregate by 16-byte stores.
struct OperatorCall {
  OperatorCall(const StartState& start, AllocApi made_by, std::size_t asked, std::size_t alignment,
               const OperatorCall* around)
      : return_address(start.return_address),
        sp(start.sp),
        rbp(start.rbp),
        bytes(asked),
        align(alignment),
        outer(around),
        api(made_by) {}

  std::uint64_t return_address;
  std::uint64_t sp;
  std::uint64_t rbp;
  std::size_t bytes;
  std::size_t align;
  const OperatorCall* outer;  // such as a new handler's caller
  AllocApi api;
};
__thread const OperatorCall* operator_call __attribute__((tls_model("initial-exec"))) = nullptr;

// While this lives, an exception that leaves the operator is recorded as a failed request: see
// tare_operator_threw().
class WatchedCall {
 public:
  WatchedCall(const StartState& start, AllocApi api, std::size_t bytes, std::size_t align)
      : call_(start, api, bytes, align, operator_call) {
    operator_call = &call_;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~WatchedCall() { operator_call = call_.outer; }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  OperatorCall call_;
};

}  // namespace

// Personality routine of the hooks' frames. The recorder is compiled without exceptions and catches none. The search
// for a handler calls the personality routine of each frame, also if no handler exists and the program aborts.
extern "C" __attribute__((visibility("hidden"), used)) TARE_REALIGNED int tare_operator_threw(int, int actions,
                                                                                              std::uint64_t, void*,
                                                                                              void*) {
  constexpr int kSearch = 1;    // _UA_SEARCH_PHASE
  constexpr int kContinue = 8;  // _URC_CONTINUE_UNWIND
  const OperatorCall* const call = operator_call;
  if (call == nullptr) return kContinue;
  if ((actions & kSearch) != 0)
    record_failed_request({call->return_address, call->sp, call->rbp}, call->bytes, call->api, call->align);
  else
    operator_call = call->outer;
  return kContinue;
}

namespace {

bool starts_with(const char* text, const char* start) { return std::strncmp(text, start, std::strlen(start)) == 0; }

#define TARE_WATCHED_FRAME __asm__ volatile(".cfi_personality 0x1b, tare_operator_threw")  // pcrel | sdata4

template <typename... Parameters>
TARE_INLINE void* recorded_new(const StartState& start, Operator which, AllocApi api, std::size_t bytes,
                               std::size_t align, Parameters... parameters) {
  const auto function = reinterpret_cast<void* (*)(Parameters...)>(real_operators[which]);
  const auto align_log2 = static_cast<std::uint8_t>(align == 0 ? 0 : __builtin_ctzll(align));
  TARE_WATCHED_FRAME;
  if (!is_allocators_own(which)) {
    void* block;
    {
      const Suppression suppression(start);
      const WatchedCall watched(start, api, bytes, align);
      block = function(parameters...);
    }
    if (TARE_UNLIKELY(block == nullptr)) {
      record_failed_request(start, bytes, api, align);
      return block;
    }
    // Another allocator's block may be the middle of a larger one: its usable size is unknown.
    record_alloc(start, Block{word(block), bytes, bytes, api, align_log2, 0, Maker::Program});
    return block;
  }
  // Nothing is suppressed: should it fail, the exception is a block, too. jemalloc's aligned forms call aligned_alloc.
  if (this_thread != nullptr) this_thread->newest_block = 0;
  void* block;
  {
    const WatchedCall watched(start, api, bytes, align);
    block = function(parameters...);
  }
  if (TARE_UNLIKELY(block == nullptr)) {
    const bool is_recorded = this_thread != nullptr && this_thread->newest_block == kNoBlock;
    if (!is_recorded) record_failed_request(start, bytes, api, align);
    return block;
  }
  if (this_thread != nullptr && this_thread->newest_block == word(block)) return block;
  record_alloc(start, Block{word(block), bytes, usable_bytes(block, bytes), api, align_log2, 0});
  return block;
}

template <typename... Parameters>
TARE_INLINE void recorded_delete(const StartState& start, Operator which, FreeApi api, void* block,
                                 Parameters... parameters) {
  if (block == nullptr) return;
  record_free(start, word(block), api);
  const Suppression suppression(start);
  reinterpret_cast<void (*)(void*, Parameters...)>(real_operators[which])(block, parameters...);
}

// The recording forms, one for each symbol; the trailing words of a delete are passed on unchanged.
#define TARE_FORM_s(symbol, api)                                               \
  void* record_##symbol(std::size_t bytes) {                                   \
    return recorded_new(TARE_HERE, k##symbol, AllocApi::api, bytes, 0, bytes); \
  }
#define TARE_FORM_sn(symbol, api)                                                       \
  void* record_##symbol(std::size_t bytes, const void* nothrow) {                       \
    return recorded_new(TARE_HERE, k##symbol, AllocApi::api, bytes, 0, bytes, nothrow); \
  }
#define TARE_FORM_sa(symbol, api)                                                         \
  void* record_##symbol(std::size_t bytes, std::size_t align) {                           \
    return recorded_new(TARE_HERE, k##symbol, AllocApi::api, bytes, align, bytes, align); \
  }
#define TARE_FORM_san(symbol, api)                                                                 \
  void* record_##symbol(std::size_t bytes, std::size_t align, const void* nothrow) {               \
    return recorded_new(TARE_HERE, k##symbol, AllocApi::api, bytes, align, bytes, align, nothrow); \
  }
#define TARE_NEW(symbol, api, form) TARE_FORM_##form(symbol, api)
#define TARE_DELETE(symbol, api)                                               \
  void record_##symbol(void* block, std::size_t second, std::size_t third) {   \
    recorded_delete(TARE_HERE, k##symbol, FreeApi::api, block, second, third); \
  }
#include "recorder/hooks/operators.def"

const AnyFunction kRecording[] = {
#define TARE_NEW(symbol, api, form) reinterpret_cast<AnyFunction>(record_##symbol),
#define TARE_DELETE(symbol, api) reinterpret_cast<AnyFunction>(record_##symbol),
#include "recorder/hooks/operators.def"
};

// There is no definition (a plug-in with its own static C++ library, which this symbol hides): malloc and free are
// used.
extern "C" void* tare_hook_malloc(std::size_t) __asm__("malloc");
extern "C" void* tare_hook_aligned_alloc(std::size_t, std::size_t) __asm__("aligned_alloc");
extern "C" void tare_hook_free(void*) __asm__("free");
void* plain_aligned_new(std::size_t bytes, std::size_t align) {
  return tare_hook_aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

// A C++ library that a plug-in brought counts wherever it was loaded to; no other object of a plug-in does.
bool may_define_operators(const char* path, bool at_start) { return at_start || passes_through_malloc(path); }

AnyFunction fallback(int which) {
  if (which >= k_ZdlPv) return reinterpret_cast<AnyFunction>(tare_hook_free);
  const bool aligned = which >= k_ZnwmSt11align_val_t;
  return aligned ? reinterpret_cast<AnyFunction>(plain_aligned_new) : reinterpret_cast<AnyFunction>(tare_hook_malloc);
}

}  // namespace

bool passes_through_malloc(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  return starts_with(name, "libstdc++.") || starts_with(name, "libc++.") || starts_with(name, "libc++abi.");
}

// Where each symbol jumps to. At first, to its look-up.
extern "C" {
__attribute__((visibility("hidden"))) AnyFunction tare_look_up_operator(int which);
__attribute__((visibility("hidden"))) extern AnyFunction tare_operator_slots[];

// Finds where operator number `which` leads; returns it.
__attribute__((visibility("hidden"))) AnyFunction tare_look_up_operator(int which) {
  Definition found = {kSymbols[which]};
  find_definitions(&found, 1, SearchFrom::BehindTheRecorder, may_define_operators);
  AnyFunction target = fallback(which);
  if (found.address != nullptr) {
    operators_object[which] = found.object;
    may_be_unloaded[which] = !found.at_start;
    real_operators[which] = reinterpret_cast<AnyFunction>(found.address);
    target = passes_through_malloc(found.path) ? real_operators[which] : kRecording[which];
  }
  const AnyFunction before = __atomic_exchange_n(&tare_operator_slots[which], target, __ATOMIC_ACQ_REL);
  if (look_ups[which] == nullptr) look_ups[which] = before;
  return target;
}
}

void look_up_operators() {
  if (&__cxa_pure_virtual == nullptr) return;
  for (int which = 0; which < kOperators; ++which) tare_look_up_operator(which);
}

void forget_unloaded_operators() {
  for (int which = 0; which < kOperators; ++which) {
    if (!may_be_unloaded[which]) continue;
    if (object_around(reinterpret_cast<void*>(real_operators[which])) == operators_object[which]) continue;
    may_be_unloaded[which] = false;
    __atomic_store_n(&tare_operator_slots[which], look_ups[which], __ATOMIC_RELEASE);
  }
}

// The symbols, their slots and their look-ups. Jumping instead of calling leaves the caller's frame as it is.
__asm__(
    ".pushsection .data\n.p2align 3\n.globl tare_operator_slots\n.hidden "
    "tare_operator_slots\ntare_operator_slots:\n.popsection\n");
#define TARE_NEW(symbol, api, form) TARE_OPERATOR_ENTRY(symbol)
#define TARE_DELETE(symbol, api) TARE_OPERATOR_ENTRY(symbol)
#include "recorder/hooks/operators.def"

TARE_OPERATOR_LOOK_UP

}  // namespace tare::recorder
