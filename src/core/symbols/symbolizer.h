// Addresses to names: functions, files, lines and inlined frames of a recorded program's modules.
//
// Nothing is guessed. A name is given if DWARF has one, or if an ELF symbol's [value, value + size) contains the
// address; never the nearest lower symbol. A file on disk is used only when its build id is the recorded one.
//
// Addresses are return addresses as recorded (trace::row_address); the look-up is made at address - 1 - load_bias, that
// is inside the call. Not thread-safe: one Symbolizer a thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/symbols/frame.h"
#include "core/symbols/function_extents.h"
#include "trace/model/dictionary.h"

namespace tare::core {

enum class Inlines : std::uint8_t { Show, Hide };

struct SymbolizerOptions {
  std::vector<std::filesystem::path> debug_dirs;  // searched before /usr/lib/debug
  std::filesystem::path cache_dir;                // empty: $XDG_CACHE_HOME/tare/symbols, else ~/.cache/tare/symbols
  enum class Cache : std::uint8_t { Use, Off } cache = Cache::Use;
  Inlines inlines = Inlines::Show;
};

enum class ModuleState : std::uint8_t {
  Lines,     // DWARF found: names, lines and inlined frames
  Names,     // ELF symbols only
  NoNames,   // the right file, but stripped of everything
  Replaced,  // the file at that path isn't the one that was recorded (build ids differ): nothing is resolved
  Missing,   // no file
  Damaged,   // the file can't be understood
};

struct ModuleReport {
  ModuleState state;
  std::string message;               // one line for a person, empty for Lines
  std::filesystem::path debug_file;  // where the names came from; empty if nowhere
};

class Symbolizer {
 public:
  explicit Symbolizer(SymbolizerOptions options = {});
  ~Symbolizer();  // saves the cache
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Innermost frame first; the last is the physical one. Never empty: an address of which nothing is known yields one
  // frame of empty names.
  std::vector<Frame> resolve(const trace::Module& module, std::uint64_t return_address);

  // The same for many addresses of one module: result[i] belongs to return_addresses[i]. Any order, duplicates allowed;
  // much cheaper than one by one, because a compilation unit is walked once for all its addresses.
  std::vector<std::vector<Frame>> resolve(const trace::Module& module, std::span<const std::uint64_t> return_addresses);

  // The cheap tier: ELF symbols only, never opens DWARF (half a millisecond for a file of 40,000 symbols). Names equal
  // those that resolve() gives the physical frame, except for folded code: DWARF has the function that the lines belong
  // to, and symbols alone don't (0.2 % of the addresses of Debian's python3.11, 0.3 % of libc's).
  std::vector<FunctionName> function_names(const trace::Module& module,
                                           std::span<const std::uint64_t> return_addresses);

  // The function at an address, with or without a symbol. Nothing: unknown.
  std::optional<FunctionExtent> function_extent(const trace::Module& module, std::uint64_t return_address);

  // Where this module's names come from, and why not if they don't.
  ModuleReport report(const trace::Module& module);

  // Writes newly resolved frames to the cache now. A cache that can't be written is no error: it only costs time.
  void save_cache();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tare::core
