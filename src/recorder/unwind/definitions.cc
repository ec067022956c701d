// Reads the hash tables of the loaded objects, as the loader does when it binds a reference.
#include "recorder/unwind/definitions.h"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/unwind/modules.h"

namespace tare::recorder {
namespace {

// The tables of one object that a look-up by name needs.
struct SymbolTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Half) * versions = nullptr;  // null: the object has none
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* sysv_hash = nullptr;

  bool are_complete() const {
    return symbols != nullptr && names != nullptr && (gnu_hash != nullptr || sysv_hash != nullptr);
  }
};

// The top bit of a version marks a definition that only old programs are bound to.
constexpr ElfW(Half) kHiddenVersion = 0x8000;

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t sysv_hash_of(const char* name) {
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const std::uint32_t high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

SymbolTables tables_of(ElfW(Addr) bias, const ElfW(Dyn) * dynamic) {
  SymbolTables tables;
  if (dynamic == nullptr) return tables;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // glibc's loader has made these absolute; musl's leaves them as they are, and so does everybody the vdso's
    const ElfW(Addr) value = dynamic->d_un.d_ptr < bias ? bias + dynamic->d_un.d_ptr : dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(value);
        break;
      case DT_VERSYM:
        tables.versions = reinterpret_cast<const ElfW(Half)*>(value);
        break;
      case DT_GNU_HASH:
        tables.gnu_hash = reinterpret_cast<const std::uint32_t*>(value);
        break;
      case DT_HASH:
        tables.sysv_hash = reinterpret_cast<const std::uint32_t*>(value);
        break;
      default:
        break;
    }
  }
  return tables;
}

SymbolTables tables_of(const dl_phdr_info& object) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    }
  }
  return tables_of(object.dlpi_addr, dynamic);
}

bool is_definition(const SymbolTables& tables, std::uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE && type != STT_OBJECT) return false;
  if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) return false;
  if (tables.versions != nullptr && (tables.versions[index] & kHiddenVersion) != 0) return false;
  return std::strcmp(tables.names + symbol.st_name, name) == 0;
}

const ElfW(Sym) * find_by_gnu_hash(const SymbolTables& tables, const char* name) {
  const std::uint32_t bucket_count = tables.gnu_hash[0];
  const std::uint32_t first_symbol = tables.gnu_hash[1];
  const std::uint32_t filter_words = tables.gnu_hash[2];
  const std::uint32_t filter_shift = tables.gnu_hash[3];
  if (bucket_count == 0 || filter_words == 0) return nullptr;
  const auto* const filter = reinterpret_cast<const ElfW(Addr)*>(tables.gnu_hash + 4);
  const auto* const buckets = reinterpret_cast<const std::uint32_t*>(filter + filter_words);
  const std::uint32_t* const chains = buckets + bucket_count;

  constexpr std::uint32_t kWordBits = sizeof(ElfW(Addr)) * 8;
  const std::uint32_t hash = gnu_hash_of(name);
  const ElfW(Addr) word = filter[(hash / kWordBits) % filter_words];
  const ElfW(Addr) bits = ElfW(Addr){1} << hash % kWordBits | ElfW(Addr){1} << (hash >> filter_shift) % kWordBits;
  if ((word & bits) != bits) return nullptr;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chained = chains[index - first_symbol];
    if ((chained | 1) == (hash | 1) && is_definition(tables, index, name)) return &tables.symbols[index];
    if ((chained & 1) != 0) return nullptr;
  }
}

const ElfW(Sym) * find_by_sysv_hash(const SymbolTables& tables, const char* name) {
  const std::uint32_t bucket_count = tables.sysv_hash[0];
  if (bucket_count == 0) return nullptr;
  const std::uint32_t* const buckets = tables.sysv_hash + 2;
  const std::uint32_t* const chains = buckets + bucket_count;
  for (std::uint32_t index = buckets[sysv_hash_of(name) % bucket_count]; index != STN_UNDEF; index = chains[index]) {
    if (is_definition(tables, index, name)) return &tables.symbols[index];
  }
  return nullptr;
}

void* find_in(ElfW(Addr) bias, const SymbolTables& tables, Definition& definition) {
  const char* const name = definition.symbol;
  const ElfW(Sym)* const symbol =
      tables.gnu_hash != nullptr ? find_by_gnu_hash(tables, name) : find_by_sysv_hash(tables, name);
  if (symbol == nullptr) return nullptr;
  definition.bytes = symbol->st_size;
  const ElfW(Addr) address = bias + symbol->st_value;
  if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC) return reinterpret_cast<void*>(address);
  return reinterpret_cast<void* (*)()>(address)();
}

// The lowest address of the object's segments. `end` is set to the address behind the highest.
const void* bounds_of(const dl_phdr_info& object, ElfW(Addr) & end) {
  ElfW(Addr) start = ~ElfW(Addr){0};
  end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    if (object.dlpi_addr + segment.p_vaddr < start) start = object.dlpi_addr + segment.p_vaddr;
    if (object.dlpi_addr + segment.p_vaddr + segment.p_memsz > end) {
      end = object.dlpi_addr + segment.p_vaddr + segment.p_memsz;
    }
  }
  return reinterpret_cast<const void*>(start);
}

// The objects stand in the order in which they were loaded, which for those of the start is that of the search.
std::size_t objects_at_start = ~std::size_t{0};

struct Search {
  Definition* definitions;
  std::size_t count;
  bool (*accepts)(const char* path, bool at_start);
  bool is_searching;  // false: the recorder comes later
  bool is_late;       // only libraries other than the recorder are searched
  std::size_t objects_seen = 0;
};

int search_object(dl_phdr_info* object, std::size_t, void* argument) {
  static const char here = 0;
  auto& search = *static_cast<Search*>(argument);
  const bool at_start = search.objects_seen++ < objects_at_start;
  ElfW(Addr) end = 0;
  const void* const start = bounds_of(*object, end);
  const auto own = reinterpret_cast<ElfW(Addr)>(&here);
  if (search.is_late && search.objects_seen == 1) return 0;  // the executable
  if (own >= reinterpret_cast<ElfW(Addr)>(start) && own < end) {
    if (search.is_late) return 0;
    const bool from_here = !search.is_searching;
    search.is_searching = true;
    if (from_here) return 0;
  }
  if (!search.is_searching) return 0;
  const char* const path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (search.accepts != nullptr && !search.accepts(path, at_start)) return 0;
  const SymbolTables tables = tables_of(*object);
  if (!tables.are_complete()) return 0;
  bool missing = false;
  for (std::size_t i = 0; i < search.count; ++i) {
    Definition& definition = search.definitions[i];
    if (definition.address != nullptr) continue;
    definition.address = find_in(object->dlpi_addr, tables, definition);
    if (definition.address != nullptr) {
      definition.object = start;
      definition.path = path;
      definition.at_start = at_start;
    } else {
      missing = true;
    }
  }
  return missing ? 0 : 1;
}

struct References {
  const char* const* symbols;
  std::size_t count;
  bool found;
};

// The symbols that aren't in the hash table come first: those are the references.
int search_references(dl_phdr_info* object, std::size_t, void* argument) {
  auto& references = *static_cast<References*>(argument);
  const SymbolTables tables = tables_of(*object);
  if (tables.symbols == nullptr || tables.names == nullptr) return 1;
  std::uint32_t end = 0;
  if (tables.gnu_hash != nullptr)
    end = tables.gnu_hash[1];
  else if (tables.sysv_hash != nullptr)
    end = tables.sysv_hash[1];
  for (std::uint32_t i = 1; i < end && !references.found; ++i) {
    if (tables.symbols[i].st_shndx != SHN_UNDEF) continue;
    for (std::size_t wanted = 0; wanted < references.count; ++wanted) {
      if (std::strcmp(tables.names + tables.symbols[i].st_name, references.symbols[wanted]) == 0)
        references.found = true;
    }
  }
  return 1;  // the executable is the first object
}

int count_object(dl_phdr_info*, std::size_t, void* count) {
  ++*static_cast<std::size_t*>(count);
  return 0;
}

struct Order {
  bool has_libc = false;
};

int search_libc_before_own(dl_phdr_info* object, std::size_t, void* argument) {
  static const char here = 0;
  ElfW(Addr) end = 0;
  const void* const start = bounds_of(*object, end);
  const auto own = reinterpret_cast<ElfW(Addr)>(&here);
  if (own >= reinterpret_cast<ElfW(Addr)>(start) && own < end) return 1;
  const SymbolTables tables = tables_of(*object);
  Definition libc{"gnu_get_libc_version"};
  auto& order = *static_cast<Order*>(argument);
  if (tables.are_complete()) order.has_libc = find_in(object->dlpi_addr, tables, libc) != nullptr;
  return order.has_libc ? 1 : 0;
}

struct Around {
  ElfW(Addr) address;
  const void* object;
};

int compare_object(dl_phdr_info* object, std::size_t, void* argument) {
  auto& around = *static_cast<Around*>(argument);
  ElfW(Addr) end = 0;
  const void* const start = bounds_of(*object, end);
  if (around.address < reinterpret_cast<ElfW(Addr)>(start) || around.address >= end) return 0;
  around.object = start;
  return 1;
}

}  // namespace

void find_definitions(Definition* definitions, std::size_t count, SearchFrom from,
                      bool (*accepts)(const char* path, bool at_start)) {
  const bool is_late = from == SearchFrom::BehindTheRecorder && was_loaded_late();
  Search search{definitions, count, accepts, from == SearchFrom::FirstObject || is_late, is_late};
  dl_iterate_phdr(search_object, &search);
}

// Called for each new object: with a walk over all of them, recording a program that loads 4,000 libraries took 0.8 s
// of CPU instead of 0.3.
void find_definitions_around(Definition* definitions, std::size_t count, std::uint64_t address) {
  LoadedObject object;
  if (!find_loaded_object(address, object)) return;
  const SymbolTables tables = tables_of(object.load_bias, reinterpret_cast<const ElfW(Dyn)*>(object.dynamic));
  if (!tables.are_complete()) return;
  for (std::size_t i = 0; i < count; ++i) {
    definitions[i].address = find_in(object.load_bias, tables, definitions[i]);
    definitions[i].object = reinterpret_cast<const void*>(object.start);
  }
}

bool program_refers_to_any(const char* const* symbols, std::size_t count) {
  References references{symbols, count, false};
  dl_iterate_phdr(search_references, &references);
  return references.found;
}

bool was_loaded_late() {
  enum : int { kUnknown, kNo, kYes };
  static std::atomic<int> known{kUnknown};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    Order order;
    dl_iterate_phdr(search_libc_before_own, &order);
    answer = order.has_libc ? kYes : kNo;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == kYes;
}

void remember_objects_at_start() {
  std::size_t count = 0;
  dl_iterate_phdr(count_object, &count);
  objects_at_start = count;
}

const void* object_around(const void* address) {
  Around around{reinterpret_cast<ElfW(Addr)>(address), nullptr};
  dl_iterate_phdr(compare_object, &around);
  return around.object;
}

}  // namespace tare::recorder
