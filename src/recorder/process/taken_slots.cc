// A preloaded recorder comes first in the order in which references are bound. Loaded into a running program it comes
// last, and all references are bound already. So it is moved to the second place of the loader's list, where the
// references of later modules find it, and the slots of the loaded modules are written.
//
// Runs in a call that a launcher makes in one thread of the program. Other threads run meanwhile and call by the slots.
// The slots are written one by one while no recording goes on, so it doesn't matter which of them they see.
#include "recorder/process/taken_slots.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>

#include "recorder/base/address.h"
#include "recorder/base/syscall.h"
#include "recorder/foreign/python.h"
#include "recorder/hooks/operators.h"
#include "recorder/limits/sandbox.h"
#include "recorder/recorder.h"
#include "recorder/unwind/definitions.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {
namespace {

constexpr const char* kNames[] = {
#define TARE_HOOK(result, name, parameters) #name,
#include "recorder/hooks/hooks.def"
#define TARE_NEW(symbol, api, form) #symbol,
#define TARE_DELETE(symbol, api) #symbol,
#include "recorder/hooks/operators.def"
};
constexpr std::size_t kNameCount = sizeof(kNames) / sizeof(kNames[0]);
constexpr std::size_t kFunctions = 0
#define TARE_HOOK(result, name, parameters) +1
#include "recorder/hooks/hooks.def"
    ;

struct Names {
  Definition ours[kNameCount];
  Definition before[kNameCount];
};
Names names;
std::uint64_t lowest = 0;   // of the addresses in `names`
std::uint64_t highest = 0;  // a reference to anything else isn't searched by its name
std::uint64_t slots_room = 0;

struct Pass {
  trace::TakenSlot* slots;  // null: counts only
  std::uint64_t room;
  std::uint64_t count;
};

// A FUTEX_WAKE_OP of "or 0" changes nothing and fails where the word can't be written.
bool is_writable(std::uint64_t address) {
  constexpr long kWakeOpPrivate = 5 | 128;
  constexpr long kOrZero = 2 << 28;
  static std::uint32_t unused = 0;
  return !sys::failed(
      sys::call(SYS_futex, sys::word(&unused), kWakeOpPrivate, 0, 0, static_cast<long>(address), kOrZero));
}

// The page of a slot is read-only if the loader has finished with its module. A page that is writable stays so: the
// loader may be about to write it.
bool write_slot(std::uint64_t address, std::uint64_t value) {
  const bool is_protected = !is_writable(address);
  const long page = static_cast<long>(address & ~(kPage - 1));
  if (is_protected && sys::failed(sys::call(SYS_mprotect, page, kPage, PROT_READ | PROT_WRITE))) return false;
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(address), value, __ATOMIC_RELEASE);
  if (is_protected) sys::call(SYS_mprotect, page, kPage, PROT_READ);
  return true;
}

struct Module {
  std::uint64_t bias = 0;
  std::uint64_t start = ~std::uint64_t{0};
  std::uint64_t end = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  std::uint64_t relocations[2] = {};  // DT_RELA, DT_JMPREL
  std::uint64_t bytes[2] = {};
};

Module module_of(const dl_phdr_info& object) {
  Module module;
  module.bias = object.dlpi_addr;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const std::uint64_t at = module.bias + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(at);
    if (segment.p_type != PT_LOAD) continue;
    if (at < module.start) module.start = at;
    if (at + segment.p_memsz > module.end) module.end = at + segment.p_memsz;
  }
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const std::uint64_t value = entry->d_un.d_ptr;
    const std::uint64_t address = value < module.bias ? module.bias + value : value;
    if (entry->d_tag == DT_SYMTAB) module.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) module.strings = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_RELA) module.relocations[0] = address;
    if (entry->d_tag == DT_RELASZ) module.bytes[0] = value;
    if (entry->d_tag == DT_JMPREL) module.relocations[1] = address;
    if (entry->d_tag == DT_PLTRELSZ) module.bytes[1] = value;
  }
  return module;
}

bool is_reference(std::uint64_t type, std::int64_t addend) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && addend == 0);
}

// kNameCount: the recorder has no such function, or nothing else defines it.
std::size_t name_of(const char* name) {
  for (std::size_t i = 0; i < kNameCount; ++i) {
    if (std::strcmp(name, kNames[i]) == 0)
      return names.ours[i].address != nullptr && names.before[i].address != nullptr ? i : kNameCount;
  }
  return kNameCount;
}

void take(const Module& module, const ElfW(Rela) & relocation, Pass& pass) {
  const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
  const ElfW(Sym)& symbol = module.symbols[ELF64_R_SYM(relocation.r_info)];
  if (!is_reference(type, relocation.r_addend) || symbol.st_name == 0) return;
  const std::uint64_t address = module.bias + relocation.r_offset;
  const std::uint64_t value = __atomic_load_n(reinterpret_cast<std::uint64_t*>(address), __ATOMIC_ACQUIRE);
  // Not bound yet: it leads to the module's own code, which binds it at the first call.
  const bool may_be_unbound =
      type == R_X86_64_JUMP_SLOT && symbol.st_shndx == SHN_UNDEF && value >= module.start && value < module.end;
  if (!may_be_unbound && (value < lowest || value > highest)) return;
  const std::size_t which = name_of(module.strings + symbol.st_name);
  if (which == kNameCount) return;
  const auto ours = reinterpret_cast<std::uint64_t>(names.ours[which].address);
  auto before = reinterpret_cast<std::uint64_t>(names.before[which].address);
  const bool is_unbound = may_be_unbound && value != before;
  if (value != before && value != ours && !is_unbound) return;
  if (is_unbound) before = value;
  const std::uint64_t place = pass.count++;
  if (pass.slots == nullptr || place >= pass.room) return;
  pass.slots[place] = {address, ours, before};
  if (value != ours && !write_slot(address, ours)) --pass.count;
}

int take_from(dl_phdr_info* object, std::size_t, void* argument) {
  static const char here = 0;
  const Module module = module_of(*object);
  const auto own = reinterpret_cast<std::uint64_t>(&here);
  if (module.symbols == nullptr || module.strings == nullptr || (own >= module.start && own < module.end)) return 0;
  for (int table = 0; table < 2; ++table) {
    const auto* const first = reinterpret_cast<const ElfW(Rela)*>(module.relocations[table]);
    const std::uint64_t count = first == nullptr ? 0 : module.bytes[table] / sizeof(ElfW(Rela));
    for (std::uint64_t i = 0; i < count; ++i) take(module, first[i], *static_cast<Pass*>(argument));
  }
  return 0;
}

// The list of the objects that references are searched in lies somewhere in the executable's link_map, at a place that
// differs between versions: the address of an array that begins with the executable and contains the recorder, and its
// length. The recorder is at its end after dlopen(RTLD_GLOBAL). Other threads read the array meanwhile: from each store
// to the next, no object is missing but the recorder.
bool move_to_front(const link_map* program, const link_map* own) {
  constexpr std::size_t kLongestMap = 1152;  // bytes
  constexpr std::uint32_t kMostObjects = 1 << 16;
  const auto* const words = reinterpret_cast<const std::uint64_t*>(program);
  for (std::size_t i = 5; i + 1 < kLongestMap / 8; ++i) {
    if (!probe_readable(reinterpret_cast<std::uint64_t>(words + i + 1))) return false;
    const std::uint64_t list = words[i];
    const auto count = static_cast<std::uint32_t>(words[i + 1]);
    if (list % 8 != 0 || count < 2 || count > kMostObjects || !probe_readable(list)) continue;
    auto* const objects = reinterpret_cast<const link_map**>(list);
    if (objects[0] != program || !probe_readable(list + (count - 1) * 8)) continue;
    std::uint32_t place = 1;
    while (place < count && objects[place] != own) ++place;
    if (place == count) continue;
    if (place > 1 && !is_writable(list)) return false;
    for (; place > 1; --place) __atomic_store_n(&objects[place], objects[place - 1], __ATOMIC_RELEASE);
    __atomic_store_n(&objects[1], own, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

void look_up_names() {
  static const char here = 0;
  for (std::size_t i = 0; i < kNameCount; ++i) {
    names.ours[i] = {kNames[i]};
    names.before[i] = {kNames[i]};
  }
  find_definitions_around(names.ours, kNameCount, reinterpret_cast<std::uint64_t>(&here));
  find_definitions(names.before, kNameCount, SearchFrom::BehindTheRecorder);
  for (std::size_t i = kFunctions; i < kNameCount; ++i) {
    if (passes_through_malloc(names.before[i].path)) names.before[i].address = nullptr;
  }
  lowest = ~std::uint64_t{0};
  highest = 0;
  for (std::size_t i = 0; i < kNameCount; ++i) {
    for (const Definition* const one : {&names.ours[i], &names.before[i]}) {
      const auto address = reinterpret_cast<std::uint64_t>(one->address);
      if (address == 0) continue;
      if (address < lowest) lowest = address;
      if (address > highest) highest = address;
    }
  }
}

// The number of slots that lead to the recorder; negative on failure: the loader's list wasn't found (-1), or there is
// no memory (-2).
long take_slots(const link_map* program) {
  look_up_names();
  const link_map* own = program;
  while (own != nullptr && own->l_ld != _DYNAMIC) own = own->l_next;
  if (own == nullptr || !move_to_front(program, own)) return -1;
  Pass counted{nullptr, 0, 0};
  dl_iterate_phdr(take_from, &counted);
  auto* const before = reinterpret_cast<void*>(rendezvous.slots);
  if (before != nullptr) give_back(before, slots_room * sizeof(trace::TakenSlot));
  rendezvous.slots = rendezvous.slot_count = 0;
  const std::uint64_t room = counted.count + 64 + kPythonSlots;  // 64: of modules that are loaded meanwhile
  void* const memory = reserve_zeroed(room * sizeof(trace::TakenSlot));
  if (memory == nullptr) return -2;
  auto* const slots = static_cast<trace::TakenSlot*>(memory);
  Pass pass{slots, room - kPythonSlots, 0};
  dl_iterate_phdr(take_from, &pass);
  std::uint64_t count = pass.count < pass.room ? pass.count : pass.room;
  trace::TakenSlot python[kPythonSlots];
  const std::size_t python_count = take_python_tables(python);
  for (std::size_t i = 0; i < python_count; ++i) slots[count++] = python[i];
  slots_room = room;
  rendezvous.slots = reinterpret_cast<std::uint64_t>(memory);
  rendezvous.slot_count = count;
  return static_cast<long>(rendezvous.slot_count);
}

}  // namespace

void offer_slots() {
  rendezvous.take_slots = reinterpret_cast<std::uint64_t>(&take_slots);
  rendezvous.admit_filter = reinterpret_cast<std::uint64_t>(&admit_filter);
}

}  // namespace tare::recorder
