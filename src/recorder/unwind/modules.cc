// Queries the loader, reads program headers and build-ids from memory, keeps the list of modules and publishes it.
#include "recorder/unwind/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "recorder/base/address.h"
#include "recorder/base/syscall.h"
#include "recorder/managed/python_runtime.h"
#include "recorder/unwind/libc_entries.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/row_cache.h"
#include "recorder/unwind/spin_lock.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {
namespace {

using trace::ModuleEntry;
using trace::ModuleId;

constexpr std::uint32_t kPathBytes = 4096;

struct List {
  SpinLock lock;
  Tables tables{};
  std::atomic<ModuleInfo*> infos{nullptr};  // by ModuleId; address space for `limit` of them, touched as they come
  std::uint32_t limit = 0;
  std::atomic<std::uint32_t> count{0};  // infos [0, count) are complete
  char path[kPathBytes] = {};           // scratch, under the lock
};
constinit List g_list;  // hooks run before any constructor of ours

constinit std::atomic<std::uint32_t> g_unloading{0};  // threads inside dlclose
constinit std::atomic<std::uint32_t> g_sweeping{0};   // threads inside sweep_modules()

class Sweep {
 public:
  Sweep() { g_sweeping.fetch_add(1, std::memory_order_seq_cst); }
  ~Sweep() { g_sweeping.fetch_sub(1, std::memory_order_release); }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  bool is_allowed() const { return g_unloading.load(std::memory_order_seq_cst) == 0; }
};

bool readable(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0 || address + bytes < address) return false;
  for (std::uint64_t page = address & ~(kPage - 1); page < address + bytes; page += kPage) {
    if (!probe_readable(page)) return false;
  }
  return true;
}

struct ProgramHeaders {
  const Elf64_Phdr* first = nullptr;
  std::uint64_t count = 0;
};

// Are these the headers of this object? Its unwind table must be at the place in the headers.
bool describe(const ProgramHeaders& headers, const LoadedObject& object) {
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr& header = headers.first[i];
    const std::uint64_t start = object.load_bias + header.p_vaddr;
    if (object.eh_frame_header != 0 ? header.p_type == PT_GNU_EH_FRAME && start == object.eh_frame_header
                                    : header.p_type == PT_LOAD && (start & ~(kPage - 1)) == object.start) {
      return true;
    }
  }
  return false;
}

ProgramHeaders headers_at(std::uint64_t address) {
  if (address == 0 || !readable(address, sizeof(Elf64_Ehdr))) return {};
  const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(address);
  if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_ident[EI_CLASS] != ELFCLASS64) return {};
  if (elf->e_phentsize != sizeof(Elf64_Phdr) || !readable(address + elf->e_phoff, elf->e_phnum * sizeof(Elf64_Phdr))) {
    return {};
  }
  return {reinterpret_cast<const Elf64_Phdr*>(address + elf->e_phoff), elf->e_phnum};
}

// The kernel passes the address of the main program's headers. An object's lie behind its ELF header: at its load bias
// as linkers lay objects out, else at the start of the mapping.
ProgramHeaders headers_of(const LoadedObject& object) {
  const ProgramHeaders main{reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR)), getauxval(AT_PHNUM)};
  if (describe(main, object)) return main;
  for (const std::uint64_t address : {object.load_bias, object.start}) {
    const ProgramHeaders headers = headers_at(address);
    if (describe(headers, object)) return headers;
  }
  return {};
}

// An object with gaps is several mappings to the loader, each with a range of its own.
void widen(LoadedObject& object, const ProgramHeaders& headers) {
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr& header = headers.first[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uint64_t start = (object.load_bias + header.p_vaddr) & ~(kPage - 1);
    const std::uint64_t end = object.load_bias + header.p_vaddr + header.p_memsz;
    if (start < object.start) object.start = start;
    if (end > object.end) object.end = end;
  }
}

// The file-backed, readable segments.
Image image_of(const LoadedObject& object, const ProgramHeaders& headers) {
  Image image;
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr& header = headers.first[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0) continue;
    const std::uint64_t start = object.load_bias + header.p_vaddr;
    const std::uint64_t end = start + header.p_filesz;
    if (start >= object.start && end <= object.end && start < end) image.add({start, end});
  }
  return image;
}

struct BuildId {
  std::uint8_t bytes[sizeof(ModuleEntry::build_id)] = {};
  std::uint8_t count = 0;
};

BuildId build_id_of(const LoadedObject& object, const ProgramHeaders& headers, const Image& image) {
  BuildId id;
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr& header = headers.first[i];
    if (header.p_type != PT_NOTE) continue;
    const std::uint64_t start = object.load_bias + header.p_vaddr;
    const Range* range = image.around(start);
    if (range == nullptr || header.p_memsz > range->end - start) continue;
    Reader reader(start, start + header.p_memsz);
    while (!reader.done()) {
      const auto name_bytes = reader.fixed<std::uint32_t>();
      const auto bytes = reader.fixed<std::uint32_t>();
      const auto type = reader.fixed<std::uint32_t>();
      const std::uint64_t name = reader.at();
      reader.skip((std::uint64_t{name_bytes} + 3) & ~std::uint64_t{3});
      const std::uint64_t content = reader.at();
      reader.skip((std::uint64_t{bytes} + 3) & ~std::uint64_t{3});
      if (reader.bad()) break;
      if (type != NT_GNU_BUILD_ID || name_bytes != 4 ||
          std::memcmp(reinterpret_cast<const void*>(name), "GNU", 4) != 0) {
        continue;
      }
      id.count = static_cast<std::uint8_t>(bytes < sizeof(id.bytes) ? bytes : sizeof(id.bytes));
      std::memcpy(id.bytes, reinterpret_cast<const void*>(content), id.count);
      return id;
    }
  }
  return id;
}

std::uint64_t fnv(std::uint64_t hash, const void* data, std::uint64_t bytes) {
  const auto* at = static_cast<const std::uint8_t*>(data);
  for (std::uint64_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  return hash;
}

constexpr std::uint64_t kHashSeed = 0xcbf29ce484222325;

// Distinguishes two objects loaded at the same place, as far as that is possible at once: the search table's header and
// first entries. Readable as long as any object with its header at this place is loaded.
std::uint64_t print_of(const LoadedObject& object, const Image& image) {
  constexpr std::uint64_t kSample = 64;
  const Range* range = image.around(object.eh_frame_header);
  if (range == nullptr || range->end - object.eh_frame_header < kSample) return kHashSeed;
  return fnv(kHashSeed, reinterpret_cast<const void*>(object.eh_frame_header), kSample);
}

struct AddressSearch {
  std::uint64_t address;
  LoadedObject* object;
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<AddressSearch*>(data);
  LoadedObject found;
  found.start = ~std::uint64_t{0};
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr& header = info->dlpi_phdr[i];
    const std::uint64_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) found.eh_frame_header = start;
    if (header.p_type == PT_DYNAMIC) found.dynamic = start;
    if (header.p_type != PT_LOAD) continue;
    if (start < found.start) found.start = start;
    if (start + header.p_memsz > found.end) found.end = start + header.p_memsz;
    inside = inside || (search.address >= start && search.address < start + header.p_memsz);
  }
  if (!inside) return 0;
  found.start &= ~(kPage - 1);
  found.load_bias = info->dlpi_addr;
  found.name = info->dlpi_name;
  *search.object = found;
  return 1;
}

bool is_vdso(const LoadedObject& object) {
  const std::uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
  return vdso != 0 && vdso >= object.start && vdso < object.end;
}

// The absolute path of the object in g_list.path. Returns its length.
std::uint32_t path_of(const LoadedObject& object) {
  char* path = g_list.path;
  if (is_vdso(object)) {
    std::memcpy(path, "[vdso]", 6);
    return 6;
  }
  if (object.name[0] == '\0') {
    const ssize_t length = readlink("/proc/self/exe", path, kPathBytes);
    return length > 0 ? static_cast<std::uint32_t>(length) : 0;
  }
  std::size_t length = 0;
  if (object.name[0] != '/' && getcwd(path, kPathBytes) != nullptr) {
    length = std::strlen(path);
    if (length < kPathBytes) path[length++] = '/';
  }
  const std::size_t name_length = strnlen(object.name, kPathBytes - length);
  std::memcpy(path + length, object.name, name_length);
  return static_cast<std::uint32_t>(length + name_length);
}

std::uint64_t string_limit() {
  const std::uint64_t limit = g_list.tables.string_limit;
  return limit == 0 ? trace::kMaxStringBytes : limit;
}

bool append_string(const char* text, std::uint32_t length, trace::StringRef& ref) {
  const Tables& tables = g_list.tables;
  const std::uint32_t offset = tables.string_bytes->load(std::memory_order_relaxed);
  if (offset + std::uint64_t{length} > string_limit() ||
      !tables.ensure(tables.context, Tables::Region::Strings, offset + length)) {
    return false;
  }
  std::memcpy(tables.strings + offset, text, length);
  tables.string_bytes->store(offset + length, std::memory_order_release);
  ref = {offset, length};
  return true;
}

bool publish(const LoadedObject& object, const BuildId& id, std::uint32_t index) {
  const Tables& tables = g_list.tables;
  const auto ensure = [&](std::uint64_t bytes) {
    return tables.ensure(tables.context, Tables::Region::Modules, bytes);
  };
  if (index >= g_list.limit || !ensure((index + 1) * sizeof(ModuleEntry))) return false;
  ModuleEntry entry{};
  entry.load_bias = object.load_bias;
  entry.start = object.start;
  entry.end = object.end;
  if (object.name[0] == '\0' && tables.exe.length != 0 && !is_vdso(object)) {
    entry.path = tables.exe;
  } else if (!append_string(g_list.path, path_of(object), entry.path)) {
    return false;
  }
  // How many objects have already been at this place.
  for (std::uint32_t i = 0; i < index; ++i) {
    const LoadedObject& earlier = g_list.infos.load(std::memory_order_relaxed)[i].object;
    if (earlier.start < object.end && object.start < earlier.end) ++entry.generation;
  }
  entry.build_id_bytes = id.count;
  std::memcpy(entry.build_id, id.bytes, sizeof(entry.build_id));
  tables.modules[index] = entry;
  tables.module_count->store(index + 1, std::memory_order_release);
  return true;
}

// The unwind table's place names an object; without one, the mapping does.
bool same_place(const LoadedObject& a, const LoadedObject& b) {
  if (a.load_bias != b.load_bias || a.eh_frame_header != b.eh_frame_header) return false;
  return a.eh_frame_header != 0 || (a.start >= b.start && a.end <= b.end) || (b.start >= a.start && b.end <= a.end);
}

// A module that is, or once was, this very object. Newest first: the one in use is found at once.
ModuleInfo* known(const LoadedObject& object, const BuildId* id, std::uint64_t print) {
  ModuleInfo* infos = g_list.infos.load(std::memory_order_acquire);
  for (std::uint32_t i = g_list.count.load(std::memory_order_acquire); i-- > 0;) {
    ModuleInfo& info = infos[i];
    if (!same_place(info.object, object)) continue;
    if (id == nullptr) {
      if (__atomic_load_n(&info.gone, __ATOMIC_ACQUIRE) == 0) return &info;
    } else {
      const ModuleEntry& entry = g_list.tables.modules[i];
      const bool same_id =
          entry.build_id_bytes == id->count && std::memcmp(entry.build_id, id->bytes, sizeof(id->bytes)) == 0;
      if (info.print == print && same_id) return &info;
    }
  }
  return nullptr;
}

const ModuleInfo* add(LoadedObject object) {
  const ProgramHeaders headers = headers_of(object);
  widen(object, headers);
  const Image image = image_of(object, headers);
  const BuildId id = build_id_of(object, headers, image);
  const std::uint64_t print = print_of(object, image);
  const sys::SignalsBlocked blocked;  // a handler that leaves by longjmp must not leave the lock taken
  if (!g_list.lock.try_lock()) return nullptr;
  bool is_new = false;
  ModuleInfo* info = known(object, &id, print);
  if (info != nullptr) {
    __atomic_store_n(&info->gone, 0, __ATOMIC_RELEASE);
  } else if (const std::uint32_t index = g_list.count.load(std::memory_order_relaxed); publish(object, id, index)) {
    info = &g_list.infos.load(std::memory_order_relaxed)[index];
    *info = {ModuleId{index}, 0, object, print, {object.eh_frame_header, image}};
    info->object.name = "";  // the loader's string goes away with the object
    g_list.count.store(index + 1, std::memory_order_release);
    is_new = true;
  }
  g_list.lock.unlock();
  if (is_new && find_python(object.start)) g_generation.fetch_or(kWeaves, std::memory_order_release);
  return info;
}

}  // namespace

bool find_loaded_object_by_visiting(std::uint64_t address, LoadedObject& object) {
  AddressSearch search{address, &object};
  return dl_iterate_phdr(visit, &search) == 1;
}

bool find_loaded_object(std::uint64_t address, LoadedObject& object) {
  if (libc_entries.find_object == nullptr) return find_loaded_object_by_visiting(address, object);
  FoundObject found;
  if (libc_entries.find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  object.start = reinterpret_cast<std::uint64_t>(found.map_start);
  object.end = reinterpret_cast<std::uint64_t>(found.map_end);
  object.load_bias = found.map->l_addr;
  object.eh_frame_header = reinterpret_cast<std::uint64_t>(found.eh_frame);
  object.dynamic = reinterpret_cast<std::uint64_t>(found.map->l_ld);
  object.name = found.map->l_name != nullptr ? found.map->l_name : "";
  return true;
}

const ModuleInfo* module_of(std::uint64_t address) {
  LoadedObject object;
  if (!find_loaded_object(address, object) || g_list.infos.load(std::memory_order_acquire) == nullptr) return nullptr;
  if (const ModuleInfo* info = known(object, nullptr, 0); info != nullptr) return info;
  return add(object);
}

// Never long: a sweep takes microseconds, with signals blocked. A thread that never ends its own is one of a vfork's
// child that was killed.
void begin_unloading() {
  constexpr int kSpins = 100;
  constexpr int kNaps = 10'000;  // half a second and more
  g_unloading.fetch_add(1, std::memory_order_seq_cst);
  for (int turn = 0; turn < kSpins + kNaps && g_sweeping.load(std::memory_order_seq_cst) != 0; ++turn) {
    if (turn < kSpins) {
      arch::pause();
    } else {
      sys::sleep_ns(50'000);
    }
  }
}

void end_unloading() {
  std::uint32_t seen = g_unloading.load(std::memory_order_relaxed);  // 0: forked meanwhile, in a destructor
  while (seen != 0 && !g_unloading.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) {
  }
}

void sweep_modules(std::uint32_t first, std::uint32_t count, void (*retire)(ModuleId)) {
  const sys::SignalsBlocked blocked;
  const Sweep sweep;
  if (!sweep.is_allowed()) return;
  ModuleInfo* infos = g_list.infos.load(std::memory_order_acquire);
  const std::uint32_t known_count = g_list.count.load(std::memory_order_acquire);
  for (std::uint32_t i = first; i < known_count && i - first < count; ++i) {
    ModuleInfo& info = infos[i];
    if (__atomic_load_n(&info.gone, __ATOMIC_ACQUIRE) != 0) continue;
    LoadedObject object;
    if (find_loaded_object(info.object.start, object) && same_place(object, info.object) &&
        print_of(object, info.unwind.image) == info.print) {
      continue;
    }
    __atomic_store_n(&info.gone, 1, __ATOMIC_RELEASE);
    retire(info.id);
  }
}

bool publish_string(const char* text, std::uint32_t length, trace::StringRef& place) {
  const sys::SignalsBlocked blocked;
  if (!g_list.lock.try_lock()) return false;
  const bool has_room = g_list.tables.string_bytes->load(std::memory_order_relaxed) < string_limit() / 2;
  const bool added = has_room && append_string(text, length, place);
  g_list.lock.unlock();
  return added;
}

// Its entry in the list is one that has gone: no address lies in it.
trace::ModuleId publish_made_module(const char* name) {
  const sys::SignalsBlocked blocked;
  const Tables& tables = g_list.tables;
  if (!g_list.lock.try_lock()) return trace::kNoModule;
  const std::uint32_t index = g_list.count.load(std::memory_order_relaxed);
  ModuleEntry entry{};
  const bool is_published = index < g_list.limit &&
                            tables.ensure(tables.context, Tables::Region::Modules, (index + 1) * sizeof(ModuleEntry)) &&
                            append_string(name, static_cast<std::uint32_t>(std::strlen(name)), entry.path);
  if (is_published) {
    tables.modules[index] = entry;
    tables.module_count->store(index + 1, std::memory_order_release);
    ModuleInfo& info = g_list.infos.load(std::memory_order_relaxed)[index];
    info.id = ModuleId{index};
    info.gone = 1;
    g_list.count.store(index + 1, std::memory_order_release);
  }
  g_list.lock.unlock();
  return is_published ? ModuleId{index} : trace::kNoModule;
}

std::uint32_t module_count() { return g_list.count.load(std::memory_order_relaxed); }

void close_module_tables() {
  g_list.tables.ensure = nothing_more;
  g_sweeping.store(0, std::memory_order_relaxed);  // of threads that aren't here
  g_unloading.store(0, std::memory_order_relaxed);
}

void attach_module_tables(const Tables& tables) {
  g_list.lock.reset();
  g_list.tables = tables;
  if (g_list.infos.load(std::memory_order_relaxed) != nullptr) return;
  look_up_libc_entries();
  g_list.limit = tables.module_limit;
  g_list.infos.store(static_cast<ModuleInfo*>(reserve_zeroed(tables.module_limit * sizeof(ModuleInfo))),
                     std::memory_order_release);
}

}  // namespace tare::recorder
