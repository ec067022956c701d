// The loaded objects: from an address to its object and unwind table, and their entries in the published module table.
#pragma once

#include <cstdint>

#include "recorder/unwind/cfi.h"
#include "recorder/unwind/unwind.h"
#include "trace/model/ids.h"

namespace tare::recorder {

// The loader's facts about the object around an address.
struct LoadedObject {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;
  std::uint64_t eh_frame_header = 0;  // 0: none
  std::uint64_t dynamic = 0;          // the dynamic section; 0: none
  const char* name = "";              // the loader's name: empty for the main program
};
// Never takes a lock of ours; with glibc >= 2.35 none of the loader's either. False: in no object.
bool find_loaded_object(std::uint64_t address, LoadedObject& object);
// The same for an older glibc, by dl_iterate_phdr. Takes the loader's lock, which is recursive.
bool find_loaded_object_by_visiting(std::uint64_t address, LoadedObject& object);

struct ModuleInfo {
  trace::ModuleId id;
  std::uint32_t gone;  // unloaded since
  LoadedObject object;
  std::uint64_t print;  // of its unwind table's first bytes: another object may come to the same place
  UnwindTable unwind;
};

// The module of an address; entered into the tables when it's new. Null: in no object, or no room. The pointer stays
// valid.
const ModuleInfo* module_of(std::uint64_t address);

// Marks those of modules [first, first + count) that the loader has dropped or replaced; calls retire(id) for each.
// Does nothing while an object is being unloaded: it would read memory that is being unmapped.
void sweep_modules(std::uint32_t first, std::uint32_t count, void (*retire)(trace::ModuleId));
std::uint32_t module_count();

// Enters a module that no object is: code that the program makes or interprets. kNoModule: no room.
trace::ModuleId publish_made_module(const char* name);

void attach_module_tables(const Tables& tables);
void close_module_tables();

}  // namespace tare::recorder
