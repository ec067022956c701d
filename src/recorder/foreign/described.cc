// From the launcher's table to replaced functions: see described.h.
#include "recorder/foreign/described.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/foreign/entry_patch.h"
#include "recorder/foreign/foreign_call.h"
#include "recorder/foreign/symbol_file.h"
#include "recorder/hooks/real.h"
#include "recorder/recorder.h"
#include "recorder/unwind/definitions.h"
#include "recorder/unwind/stack_memory.h"
#include "trace/spool/allocator_table.h"

namespace tare::recorder {
namespace {

using trace::AllocApi;
using trace::AllocatorTable;
using trace::ForeignAllocator;
using trace::ForeignFunction;
using trace::ForeignModule;
using trace::ForeignRole;

constexpr std::size_t kMostReplaced = 128;
constexpr std::size_t kArguments = trace::kMostArguments;
// No block is larger. A greater size is another argument, which a wrong description names.
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{1} << 46;

struct Replaced {
  ForeignFunction facts;
  ForeignHeap heap;
  void* place;
  AnyFunction6 original;
};
Replaced replaced[kMostReplaced];
std::size_t replaced_count = 0;
const AllocatorTable* described = nullptr;  // where some are replaced
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

void* perform(const void* context) {
  Call& call = *static_cast<Call*>(const_cast<void*>(context));
  call_original(call);
  const ForeignFunction& facts = call.function.facts;
  if (facts.role != ForeignRole::AllocateInto) return reinterpret_cast<void*>(call.result);
  if (call.result != 0) return nullptr;
  const long place = call.argument(facts.pointer);
  // A user's description may name another argument.
  if (place == 0 || (facts.required != 0 && !probe_readable(static_cast<std::uint64_t>(place)))) return nullptr;
  return *reinterpret_cast<void**>(place);
}

// The call gave a block that is larger than any can be: once a process, a line about the description.
TARE_COLD void note_wrong_size(const ForeignFunction& facts) {
  if (noted_wrong_size.exchange(true, std::memory_order_relaxed)) return;
  char line[kForeignNoteBytes];
  Text text(line, sizeof line);
  text.add(trace::kForeignNotice).add(described->allocators[facts.allocator].name).add(": ").add(facts.symbol);
  text.add(": argument ").add_number(static_cast<std::uint64_t>(facts.size)).add(" isn't the size of a block");
  Notice notice;
  recorder.leave_notice(notice, recorder.program(), line);
}

std::uint64_t size_of(const Call& call) {
  const ForeignFunction& facts = call.function.facts;
  if (facts.size < 0) return facts.role == ForeignRole::Free ? 0 : kSizeUnknown;
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

__attribute__((noinline)) long record_call(const StartState& here, const Replaced& function, const long* arguments) {
  Call call{function, arguments};
  const std::uint64_t bytes = size_of(call);
  if (bytes > kMostBlockBytes && bytes != kSizeUnknown) {
    if (perform(&call) != nullptr && function.facts.role != ForeignRole::Free) note_wrong_size(function.facts);
    return call.result;
  }
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
    case ForeignRole::UsableBytes:
      call_original(call);
      break;
  }
  return call.result;
}

template <std::size_t Which>
long replacement(long a, long b, long c, long d, long e, long f) {
  const long arguments[kArguments] = {a, b, c, d, e, f};
  return record_call(TARE_HERE, replaced[Which], arguments);
}

template <std::size_t... Which>
AnyFunction6 replacement_at(std::size_t which, std::index_sequence<Which...>) {
  static constexpr AnyFunction6 all[] = {replacement<Which>...};
  return all[which];
}

// The launcher's file, read-only and for ever.
const AllocatorTable* map_table(const char* folder) {
  char path[4352];
  Text text(path, sizeof path);
  text.add(folder).add("/").add(trace::kAllocatorsName);
  if (text.overflowed()) return nullptr;
  const long fd = sys::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (sys::failed(fd)) return nullptr;
  const long end = sys::call(SYS_lseek, fd, 0, 2 /* SEEK_END */);
  const bool is_whole = !sys::failed(end) && static_cast<std::uint64_t>(end) >= sizeof(AllocatorTable);
  const long mapped = is_whole ? sys::mmap(nullptr, sizeof(AllocatorTable), PROT_READ, MAP_PRIVATE, fd, 0) : -1;
  sys::close(fd);
  if (sys::failed(mapped)) return nullptr;
  const auto* const table = reinterpret_cast<const AllocatorTable*>(mapped);
  if (trace::is_sound(*table)) return table;
  sys::munmap(table, sizeof(AllocatorTable));
  return nullptr;
}

// Where the functions of the table lie.
struct Found {
  std::uint64_t address[trace::kMostForeignFunctions] = {};
  std::uint64_t bytes[trace::kMostForeignFunctions] = {};
  bool is_ambiguous[trace::kMostForeignFunctions] = {};
};

// One module while its symbols are visited.
struct Search {
  const AllocatorTable& table;
  Found& found;
  const dl_phdr_info* module = nullptr;
  bool wanted[trace::kMostForeignAllocators] = {};
  bool first_letters[256][256] = {};  // of wanted names: most symbols have others
};

// Do all bytes of the function lie in code of the module? A file may say anything.
bool is_code(const dl_phdr_info& module, const FunctionSymbol& symbol) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    const std::uint64_t offset = symbol.value - segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && offset < segment.p_memsz)
      return symbol.bytes <= segment.p_memsz - offset;
  }
  return false;
}

void visit(void* context, const FunctionSymbol& symbol) {
  Search& search = *static_cast<Search*>(context);
  const auto first = static_cast<unsigned char>(symbol.name[0]);
  if (first == 0 || !search.first_letters[first][static_cast<unsigned char>(symbol.name[1])]) return;
  for (std::uint32_t i = 0; i < search.table.function_count; ++i) {
    const ForeignFunction& function = search.table.functions[i];
    if (!search.wanted[function.allocator] || std::strcmp(function.symbol, symbol.name) != 0) continue;
    if (!is_code(*search.module, symbol)) continue;
    const std::uint64_t address = search.module->dlpi_addr + symbol.value;
    // Functions of one file may have the name of another file's.
    if (search.found.address[i] != 0 && search.found.address[i] != address) search.found.is_ambiguous[i] = true;
    search.found.address[i] = address;
    search.found.bytes[i] = symbol.bytes;
  }
}

const char* base_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool lies_in(const ForeignAllocator& description, const char* path) {
  const bool is_program = path[0] == '\0';
  if (description.module == ForeignModule::Program) return is_program;
  if (description.module == ForeignModule::OwnMalloc) return is_program && allocator.bypassed;
  return !is_program && std::strncmp(base_name(path), description.library, std::strlen(description.library)) == 0;
}

int search_module(dl_phdr_info* module, std::size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const char* const path = module->dlpi_name == nullptr ? "" : module->dlpi_name;
  bool is_wanted = false;
  for (std::uint32_t i = 0; i < search.table.allocator_count; ++i) {
    search.wanted[i] = lies_in(search.table.allocators[i], path);
    is_wanted = is_wanted || search.wanted[i];
  }
  if (!is_wanted) return 0;
  search.module = module;
  visit_functions(path[0] == '\0' ? "/proc/self/exe" : path, visit, &search);
  return 0;
}

class Notes {
 public:
  explicit Notes(char (&line)[kForeignNoteBytes]) : text_(line, sizeof line) {}
  void add(const ForeignAllocator& description, const ForeignFunction& function, const char* reason) {
    if (text_.length() != 0) return;  // the first names the cause
    text_.add("allocator ").add(description.name).add(" isn't recorded: ").add(function.symbol).add(": ").add(reason);
  }

 private:
  Text text_;
};

std::size_t (*usable_function(const AllocatorTable& table, const Found& found, std::uint32_t which))(void*,
                                                                                                     std::size_t) {
  for (std::uint32_t i = 0; i < table.function_count; ++i) {
    const ForeignFunction& function = table.functions[i];
    if (function.allocator == which && function.role == ForeignRole::UsableBytes && found.address[i] != 0 &&
        !found.is_ambiguous[i])
      return reinterpret_cast<std::size_t (*)(void*, std::size_t)>(found.address[i]);
  }
  return nullptr;
}

bool is_replaced(const void* function) {
  for (std::size_t i = 0; i < replaced_count; ++i) {
    if (replaced[i].place == function) return true;
  }
  return false;
}

// The functions of one allocator: all or none, for a block whose free isn't seen would live for ever.
class Candidates {
 public:
  Candidates(const AllocatorTable& table, const Found& found, std::uint32_t which)
      : table_(table), found_(found), which_(which) {}

  // Null: all can be replaced. Empty: the module doesn't have this allocator.
  const char* refusal(Notes& notes) const {
    bool allocates = false;
    bool frees = false;
    for (std::uint32_t i = 0; i < table_.function_count; ++i) {
      const ForeignFunction& function = table_.functions[i];
      if (function.allocator != which_) continue;
      const char* reason = nullptr;
      if (found_.address[i] == 0)
        reason = function.required != 0 ? "there is no such function" : nullptr;
      else if (found_.is_ambiguous[i])
        reason = "there are several functions of that name";
      else if (function.role != ForeignRole::UsableBytes)
        reason = refusal_of_function(place_of(i), found_.bytes[i]);
      if (reason != nullptr) {
        notes.add(table_.allocators[which_], function, reason);
        return reason;
      }
      if (found_.address[i] == 0) continue;
      allocates = allocates || function.role == ForeignRole::Allocate || function.role == ForeignRole::AllocateInto;
      frees = frees || function.role == ForeignRole::Free;
    }
    return allocates && frees ? nullptr : "";
  }

  void replace(Notes& notes) const {
    const ForeignHeap heap{usable_function(table_, found_, which_)};
    for (std::uint32_t i = 0; i < table_.function_count; ++i) {
      const ForeignFunction& function = table_.functions[i];
      if (function.allocator != which_ || function.role == ForeignRole::UsableBytes || found_.address[i] == 0) continue;
      void* const place = place_of(i);
      if (is_replaced(place)) continue;  // another name of the same function
      const char* reason = "too many functions are described";
      if (replaced_count < kMostReplaced) {
        Replaced& entry = replaced[replaced_count];
        entry.facts = function;
        entry.heap = heap;
        entry.place = place;
        reason =
            replace_function(place, found_.bytes[i],
                             replacement_at(replaced_count, std::make_index_sequence<kMostReplaced>()), entry.original);
      }
      if (reason == nullptr)
        ++replaced_count;
      else
        notes.add(table_.allocators[which_], function, reason);
    }
  }

 private:
  void* place_of(std::uint32_t i) const { return reinterpret_cast<void*>(found_.address[i]); }

  const AllocatorTable& table_;
  const Found& found_;
  std::uint32_t which_;
};

void mark_first_letters(Search& search) {
  for (std::uint32_t i = 0; i < search.table.function_count; ++i) {
    const char* const symbol = search.table.functions[i].symbol;
    search.first_letters[static_cast<unsigned char>(symbol[0])][static_cast<unsigned char>(symbol[1])] = true;
  }
}

// An allocator in the program gets its memory from the kernel by one of these, or from malloc, which is recorded.
bool may_map_memory() {
  static const char* const kWays[] = {"mmap", "mmap64", "sbrk", "syscall"};
  return program_refers_to_any(kWays, sizeof kWays / sizeof kWays[0]);
}

// A user's description is searched for in any case.
bool is_asked_for(const AllocatorTable& table) {
  for (std::uint32_t i = 0; i < table.function_count; ++i) {
    if (table.functions[i].required != 0) return true;
  }
  return false;
}

}  // namespace

bool replace_described_allocators(const char* folder, char (&note)[kForeignNoteBytes]) {
  const AllocatorTable* const table = map_table(folder);
  if (table == nullptr) return false;
  if (!allocator.bypassed && !may_map_memory() && !is_asked_for(*table)) {
    sys::munmap(table, sizeof(AllocatorTable));
    return false;
  }
  described = table;
  // Too large for a stack: of the main thread's there may be little.
  const long memory =
      sys::mmap(nullptr, sizeof(Found) + sizeof(Search), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sys::failed(memory)) return false;
  Found& found = *new (reinterpret_cast<void*>(memory)) Found;
  Search& search = *new (reinterpret_cast<void*>(memory + static_cast<long>(sizeof(Found)))) Search{*table, found};
  mark_first_letters(search);
  dl_iterate_phdr(search_module, &search);

  Notes notes(note);
  bool replaced_own_malloc = false;
  const sys::SignalsBlocked blocked;
  for (std::uint32_t which = 0; which < table->allocator_count; ++which) {
    const Candidates candidates(*table, found, which);
    if (candidates.refusal(notes) != nullptr) continue;
    candidates.replace(notes);
    if (table->allocators[which].module == ForeignModule::OwnMalloc) replaced_own_malloc = true;
  }
  sys::munmap(reinterpret_cast<void*>(memory), sizeof(Found) + sizeof(Search));
  return replaced_own_malloc;
}

}  // namespace tare::recorder
