// Ties the parts together: files of a module, its ELF symbols, its DWARF, and the cache in front of them.
#include "core/symbols/symbolizer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/demangle/demangle.h"
#include "core/symbols/debug_files.h"
#include "core/symbols/dwarf_file.h"
#include "core/symbols/elf_symbols.h"
#include "core/symbols/mini_debug_info.h"
#include "core/symbols/symbol_cache.h"

namespace tare::core {
namespace {

class NameMaker {
 public:
  FunctionName make(std::string_view symbol) {
    const SplitName split = split_clone_suffix(symbol);
    FunctionName made{std::string(split.base), {}, std::string(split.clone)};
    made.function = readable(made.linkage_name);
    return made;
  }

 private:
  const std::string& readable(const std::string& linkage_name) {
    const auto [known, is_new] = known_.try_emplace(linkage_name);
    if (is_new) known->second = demangle_base(linkage_name);
    return known->second;
  }

  std::unordered_map<std::string, std::string> known_;
};

struct ModuleSymbols {
  DebugFiles files;
  std::unique_ptr<ElfFile> mini;  // backs names in `symbols`
  ElfSymbols symbols;
  std::optional<FunctionExtents> extents;
  std::unique_ptr<DwarfFile> dwarf;
  bool symbols_added = false;
  bool dwarf_tried = false;
  std::string fingerprint;
  std::filesystem::path cache_file;  // empty: not cached
  ResolvedFrames known;
  ResolvedFrames fresh;  // not yet saved

  const std::vector<Frame>* find(std::uint64_t address) const {
    if (const auto hit = known.find(address); hit != known.end()) return &hit->second;
    if (const auto hit = fresh.find(address); hit != fresh.end()) return &hit->second;
    return nullptr;
  }

  ElfSymbols& elf_symbols() {
    if (!symbols_added) {
      symbols_added = true;
      if (files.debug != nullptr) symbols.add(*files.debug);
      if (files.binary != nullptr && (files.debug == nullptr || !files.debug->has_section(".symtab"))) {
        symbols.add(*files.binary);
        mini = open_mini_debug_info(*files.binary);
        if (mini != nullptr) symbols.add(*mini);
      }
    }
    return symbols;
  }

  DwarfFile* open_dwarf() {
    if (!dwarf_tried) {
      dwarf_tried = true;
      if (ElfFile* file = files.with_dwarf()) {
        Result<std::unique_ptr<DwarfFile>> opened = DwarfFile::open(*file, files.alternate.get());
        if (opened) {
          dwarf = *std::move(opened);
        } else {
          files.state = elf_symbols().empty() ? ModuleState::Damaged : ModuleState::Names;
          files.message = opened.error().message;
        }
      }
    }
    return dwarf.get();
  }
};

// Inside the call, in the ELF file's own terms.
std::optional<std::uint64_t> lookup_address(const trace::Module& module, std::uint64_t return_address) {
  if (return_address <= module.load_bias) return std::nullopt;
  return return_address - 1 - module.load_bias;
}

std::vector<std::uint64_t> sorted_lookups(const trace::Module& module,
                                          std::span<const std::uint64_t> return_addresses) {
  std::vector<std::uint64_t> lookups;
  lookups.reserve(return_addresses.size());
  for (const std::uint64_t address : return_addresses) {
    if (const auto lookup = lookup_address(module, address)) lookups.push_back(*lookup);
  }
  std::sort(lookups.begin(), lookups.end());
  lookups.erase(std::unique(lookups.begin(), lookups.end()), lookups.end());
  return lookups;
}

}  // namespace

struct Symbolizer::Impl {
  SymbolizerOptions options;
  std::unordered_map<std::string, std::unique_ptr<ModuleSymbols>> modules;  // by path and build id
  NameMaker names;

  ModuleSymbols& open(const trace::Module& module) {
    std::string key = module.path;
    key += '\0';
    key.append(module.build_id.begin(), module.build_id.end());
    std::unique_ptr<ModuleSymbols>& known = modules[key];
    if (known != nullptr) return *known;
    known = std::make_unique<ModuleSymbols>();
    known->files = find_debug_files(module, options.debug_dirs);
    if (options.cache == SymbolizerOptions::Cache::Use && !options.cache_dir.empty() && !module.build_id.empty()) {
      known->fingerprint = known->files.fingerprint();
      known->cache_file = symbol_cache_path(options.cache_dir, module.build_id);
      if (auto cached = load_symbol_cache(known->cache_file, known->fingerprint)) known->known = *std::move(cached);
    }
    return *known;
  }

  Frame frame_of(const DwarfFrame& from, const DwarfUnit& unit) {
    const FunctionName name = names.make(from.linkage_name.empty() ? from.name : from.linkage_name);
    Frame frame{name.linkage_name, name.function, name.clone, unit.path(from), std::nullopt, FrameKind::Inlined};
    if (from.line != 0) frame.line = from.line;
    return frame;
  }

  // True: `symbol` is another function of the same code as `physical`, which has an equal symbol of its own there. This
  // doesn't hold for one function under several names: a constructor's variants (C1, C2), and internal names of
  // exported functions (malloc is __libc_malloc in DWARF, getc _IO_getc, strlen the static strlen_ifunc).
  bool is_folded(ModuleSymbols& module, const ElfSymbol& symbol, const Frame& physical) {
    if (physical.linkage_name.empty() || physical.linkage_name.starts_with("__")) return false;
    const FunctionName name = names.make(symbol.name);
    return !physical.linkage_name.ends_with(name.linkage_name) && name.function != physical.function &&
           module.elf_symbols().has_alias(symbol, physical.linkage_name);
  }

  void resolve_new(ModuleSymbols& module, std::span<const std::uint64_t> lookups) {
    std::vector<DwarfFile::Found> found(lookups.size());
    if (DwarfFile* dwarf = module.open_dwarf()) found = dwarf->find(lookups);
    const std::vector<ElfSymbol> symbols = module.elf_symbols().find(lookups);
    for (std::size_t i = 0; i < lookups.size(); ++i) {
      std::vector<Frame> stack;
      for (const DwarfFrame& frame : found[i].frames) stack.push_back(frame_of(frame, *found[i].unit));
      if (stack.empty()) stack.emplace_back();
      // The machine code's own name is the symbol's: DWARF gives static C++ functions no linkage name, and the cheap
      // tier has only symbols. If the compiler folded equal functions, DWARF's name is used, because the lines belong
      // to it.
      Frame& physical = stack.back();
      physical.kind = FrameKind::Physical;
      if (!symbols[i].name.empty() && !is_folded(module, symbols[i], physical)) {
        FunctionName name = names.make(symbols[i].name);
        physical.linkage_name = std::move(name.linkage_name);
        physical.function = std::move(name.function);
        physical.clone = std::move(name.clone);
      }
      module.fresh.insert_or_assign(lookups[i], std::move(stack));
    }
  }

  void save() {
    for (auto& [key, module] : modules) {
      if (module->fresh.empty()) continue;
      if (!module->cache_file.empty()) save_symbol_cache(module->cache_file, module->fingerprint, module->fresh);
      module->known.merge(module->fresh);
      module->fresh.clear();
    }
  }
};

Symbolizer::Symbolizer(SymbolizerOptions options) : impl_(std::make_unique<Impl>()) {
  if (options.cache_dir.empty()) options.cache_dir = default_symbol_cache_dir();
  impl_->options = std::move(options);
}

Symbolizer::~Symbolizer() { save_cache(); }

std::vector<Frame> Symbolizer::resolve(const trace::Module& module, std::uint64_t return_address) {
  return std::move(resolve(module, std::span(&return_address, 1)).front());
}

std::vector<std::vector<Frame>> Symbolizer::resolve(const trace::Module& module,
                                                    std::span<const std::uint64_t> return_addresses) {
  ModuleSymbols& symbols = impl_->open(module);
  std::vector<std::uint64_t> lookups = sorted_lookups(module, return_addresses);
  std::erase_if(lookups, [&](std::uint64_t address) { return symbols.find(address) != nullptr; });
  if (!lookups.empty()) impl_->resolve_new(symbols, lookups);

  std::vector<std::vector<Frame>> stacks(return_addresses.size());
  for (std::size_t i = 0; i < return_addresses.size(); ++i) {
    const auto lookup = lookup_address(module, return_addresses[i]);
    const std::vector<Frame>* stack = lookup ? symbols.find(*lookup) : nullptr;
    if (stack == nullptr) {
      stacks[i].emplace_back();
    } else if (impl_->options.inlines == Inlines::Hide) {
      stacks[i].push_back(stack->back());
    } else {
      stacks[i] = *stack;
    }
  }
  return stacks;
}

std::vector<FunctionName> Symbolizer::function_names(const trace::Module& module,
                                                     std::span<const std::uint64_t> return_addresses) {
  ModuleSymbols& symbols = impl_->open(module);
  const std::vector<std::uint64_t> lookups = sorted_lookups(module, return_addresses);
  const std::vector<ElfSymbol> found = symbols.elf_symbols().find(lookups);
  std::vector<FunctionName> named(return_addresses.size());
  for (std::size_t i = 0; i < return_addresses.size(); ++i) {
    const auto lookup = lookup_address(module, return_addresses[i]);
    if (!lookup) continue;
    const auto at = std::lower_bound(lookups.begin(), lookups.end(), *lookup) - lookups.begin();
    const std::string_view name = found[static_cast<std::size_t>(at)].name;
    if (!name.empty()) named[i] = impl_->names.make(name);
  }
  return named;
}

std::optional<FunctionExtent> Symbolizer::function_extent(const trace::Module& module, std::uint64_t return_address) {
  ModuleSymbols& symbols = impl_->open(module);
  const auto lookup = lookup_address(module, return_address);
  if (!lookup || symbols.files.binary == nullptr) return std::nullopt;
  if (!symbols.extents) symbols.extents.emplace(*symbols.files.binary);
  return symbols.extents->find(*lookup);
}

ModuleReport Symbolizer::report(const trace::Module& module) {
  const DebugFiles& files = impl_->open(module).files;
  ModuleReport report{files.state, files.message, {}};
  if (const ElfFile* dwarf = files.with_dwarf()) {
    report.debug_file = dwarf->stamp().path;
  } else if (files.debug != nullptr) {
    report.debug_file = files.debug->stamp().path;
  } else if (files.binary != nullptr && files.state == ModuleState::Names) {
    report.debug_file = files.binary->stamp().path;
  }
  return report;
}

void Symbolizer::save_cache() { impl_->save(); }

}  // namespace tare::core
