// Finds where the program's loaded objects define functions and variables, without dlsym: no failing look-up, no
// allocation, no error text, and none of the loader's locks that it holds while constructors run.
//
// dlsym takes the loader's lock, which a thread that runs a constructor holds while it may wait for the caller; and a
// name that dlsym doesn't find makes it allocate, which an allocator that looks for its own functions waits for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::recorder {

enum class SearchFrom {
  FirstObject,  // as the program's own references are bound: the executable first
  // The objects after this library: a reference would be bound to these without it. If it was loaded late: the
  // libraries before it.
  BehindTheRecorder,
};

// A symbol to look up, and the result.
struct Definition {
  const char* symbol;
  void* address = nullptr;       // null: no object defines it
  const void* object = nullptr;  // load address of the object that does
  const char* path = "";         // that object's file, as named by the loader; empty for the executable
  bool at_start = false;         // the program started with that object
  std::size_t bytes = 0;         // as the symbol table has it
};

// Looks up `count` symbols in one pass over the loaded objects, in the order in which the loader has them. `accepts`
// may leave objects out by their path; null accepts all. May be called at any time, from any thread, under an
// allocator's locks. An indirect function is resolved.
void find_definitions(Definition* definitions, std::size_t count, SearchFrom from,
                      bool (*accepts)(const char* path, bool at_start) = nullptr);

// The same in one object only: the one that `address` lies in.
void find_definitions_around(Definition* definitions, std::size_t count, std::uint64_t address);

// True if the executable refers to one of these symbols, which another object defines.
bool program_refers_to_any(const char* const* symbols, std::size_t count);

// The library was loaded into a running program, after the C library.
bool was_loaded_late();

// Stores the list of loaded objects as those that the program started with: `at_start` above.
void remember_objects_at_start();

// The load address of the object that an address lies in; null for none.
const void* object_around(const void* address);

}  // namespace tare::recorder
