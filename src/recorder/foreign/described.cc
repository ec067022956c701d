// From the launcher's table to replaced functions: see described.h.
#include "recorder/foreign/described.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/foreign/described_call.h"
#include "recorder/foreign/entry_patch.h"
#include "recorder/foreign/symbol_file.h"
#include "recorder/hooks/real.h"
#include "recorder/recorder.h"
#include "recorder/unwind/definitions.h"
#include "trace/spool/allocator_table.h"

namespace tare::recorder {
namespace {

using trace::AllocatorTable;
using trace::ForeignAllocator;
using trace::ForeignFunction;
using trace::ForeignModule;
using trace::ForeignRole;

constexpr std::size_t kMostReplaced = 128;
constexpr std::size_t kArguments = trace::kMostArguments;

constinit Replaced replaced[kMostReplaced] = {};  // before any constructor: it is filled by the first one
std::size_t replaced_count = 0;

template <std::size_t Which>
long replacement(long a, long b, long c, long d, long e, long f) {
  const long arguments[kArguments] = {a, b, c, d, e, f};
  return record_described_call(TARE_HERE, replaced[Which], arguments);
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
  bool searches_program = false;
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
    search.wanted[i] = (path[0] != '\0' || search.searches_program) && lies_in(search.table.allocators[i], path);
    is_wanted = is_wanted || search.wanted[i];
  }
  if (!is_wanted) return 0;
  search.module = module;
  visit_functions(path[0] == '\0' ? "/proc/self/exe" : path, visit, &search);
  return 0;
}

bool has_pools(const AllocatorTable& table, std::uint32_t which) {
  for (std::uint32_t i = 0; i < table.function_count; ++i) {
    if (table.functions[i].allocator == which && trace::is_of_pools(table.functions[i].role)) return true;
  }
  return false;
}

// The variable that contains the current pool, in the allocator's module.
const std::uint64_t* current_pool(const ForeignAllocator& description) {
  if (description.current[0] == '\0') return nullptr;
  Definition variable{description.current};
  find_definitions(&variable, 1, SearchFrom::FirstObject);
  return variable.address != nullptr && variable.bytes == sizeof(void*) && lies_in(description, variable.path)
             ? static_cast<const std::uint64_t*>(variable.address)
             : nullptr;
}

class Notes {
 public:
  explicit Notes(char (&line)[kForeignNoteBytes]) : text_(line, sizeof line) {}
  void add(const ForeignAllocator& description, const char* symbol, const char* reason) {
    if (text_.length() != 0) return;  // the first names the cause
    text_.add("allocator ").add(description.name).add(" isn't recorded: ").add(symbol).add(": ").add(reason);
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
    bool creates = !has_pools(table_, which_);
    bool is_users = false;
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
        notes.add(table_.allocators[which_], function.symbol, reason);
        return reason;
      }
      if (found_.address[i] == 0) continue;
      allocates = allocates || function.role == ForeignRole::Allocate || function.role == ForeignRole::AllocateInto;
      frees = frees || function.role == ForeignRole::Free || function.role == ForeignRole::DestroyPool;
      creates = creates || function.role == ForeignRole::CreatePool;
      is_users = is_users || function.required != 0;
    }
    // Functions of other programs may have such names, too.
    const ForeignAllocator& description = table_.allocators[which_];
    if (!allocates || !frees || !creates) return "";
    if (description.current[0] == '\0' || current_pool(description) != nullptr) return nullptr;
    if (is_users) notes.add(description, description.current, "there is no such variable");
    return "";
  }

  void replace(Notes& notes) const {
    const ForeignAllocator& description = table_.allocators[which_];
    const ForeignHeap heap{usable_function(table_, found_, which_)};
    const PoolAllocator pools{has_pools(table_, which_), description.name, current_pool(description)};
    for (std::uint32_t i = 0; i < table_.function_count; ++i) {
      const ForeignFunction& function = table_.functions[i];
      if (function.allocator != which_ || function.role == ForeignRole::UsableBytes || found_.address[i] == 0) continue;
      void* const place = place_of(i);
      if (is_replaced(place)) continue;  // another name of the same function
      const char* reason = "too many functions are described";
      if (replaced_count < kMostReplaced) {
        Replaced& entry = replaced[replaced_count];
        entry.facts = function;
        entry.allocator = description.name;
        entry.heap = heap;
        entry.pools = pools;
        entry.place = place;
        reason =
            replace_function(place, found_.bytes[i],
                             replacement_at(replaced_count, std::make_index_sequence<kMostReplaced>()), entry.original);
      }
      if (reason == nullptr)
        ++replaced_count;
      else
        notes.add(description, function.symbol, reason);
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

// A library that one of the descriptions names.
int is_described_library(dl_phdr_info* module, std::size_t, void* argument) {
  const AllocatorTable& table = *static_cast<const AllocatorTable*>(argument);
  const char* const path = module->dlpi_name == nullptr ? "" : module->dlpi_name;
  for (std::uint32_t i = 0; i < table.allocator_count; ++i) {
    if (table.allocators[i].module == ForeignModule::Library && lies_in(table.allocators[i], path)) return 1;
  }
  return 0;
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
  const bool searches_program = allocator.bypassed || may_map_memory() || is_asked_for(*table);
  if (!searches_program &&
      dl_iterate_phdr(is_described_library, const_cast<void*>(static_cast<const void*>(table))) == 0) {
    sys::munmap(table, sizeof(AllocatorTable));
    return false;
  }
  // Too large for a stack: of the main thread's there may be little.
  const long memory =
      sys::mmap(nullptr, sizeof(Found) + sizeof(Search), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sys::failed(memory)) return false;
  Found& found = *new (reinterpret_cast<void*>(memory)) Found;
  Search& search =
      *new (reinterpret_cast<void*>(memory + static_cast<long>(sizeof(Found)))) Search{*table, found, searches_program};
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
