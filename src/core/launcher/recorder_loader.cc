// Leads the allocator calls of a running process to the recorder, if it wasn't started with it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/injection/injector.h"
#include "core/launcher/process_recorder.h"
#include "core/launcher/rendezvous_view.h"
#include "core/process_memory/memory_map.h"
#include "core/process_memory/program_root.h"

namespace tare::core {
namespace {

constexpr char kLibraryName[] = "/libtare-record.so";
constexpr std::uint64_t kMostLibraryData = 16 << 20;

std::optional<RendezvousFacts> find_facts(pid_t pid) {
  for (const MappedRange& mapped : memory_map_of(pid)) {
    const std::uint64_t bytes = mapped.range.end - mapped.range.start;
    if (mapped.name.find(kLibraryName) == std::string::npos || !mapped.writable || mapped.shared ||
        bytes > kMostLibraryData)
      continue;
    std::vector<char> data(bytes);
    if (!read_remote(pid, mapped.range.start, data.data(), bytes)) continue;
    if (const std::optional<std::size_t> at = find_rendezvous(data))
      return read_rendezvous(std::span<const char>(data).subspan(*at));
  }
  return std::nullopt;
}

// By its own path if the process has the same files; otherwise, or if it may not read that, as a copy in memory.
Status load(Injector& injector, pid_t pid, const std::string& library) {
  if (!has_other_root(pid) && injector.load(library)) return ok();
  const Result<std::uint64_t> copy = injector.load_copy(library, kLibraryName);
  return copy ? ok() : Status(copy.error());
}

Status take_slots(Injector& injector, pid_t pid) {
  const Result<std::uint64_t> program = injector.load({});
  if (!program) return program.error();
  const std::optional<RendezvousFacts> facts = find_facts(pid);
  if (!facts || facts->take_slots == 0) {
    return Error{ErrorKind::CannotRecord,
                 "the recorder in process " + std::to_string(pid) + " is another version's; restart the program"};
  }
  if (Status checked = injector.announce_filters(facts->admit_filter); !checked) return checked;
  const Result<std::uint64_t> count = injector.call(facts->take_slots, *program);
  if (!count) return count.error();
  if (static_cast<std::int64_t>(*count) >= 0) return ok();
  return Error{ErrorKind::CannotRecord,
               "the recorder can't be loaded into process " + std::to_string(pid) +
                   (static_cast<std::int64_t>(*count) == -1 ? ": its loader keeps its objects in an unknown form"
                                                            : ": the process has no memory for it")};
}

}  // namespace

Status lead_to_recorder(pid_t pid, const std::string& library) {
  const std::optional<RendezvousFacts> facts = find_facts(pid);
  const bool is_loaded = has_recorder(pid);
  if (is_loaded && (!facts || facts->take_slots == 0)) return ok();
  const bool is_recording =
      facts && facts->state == trace::RecorderState::Recording && facts->wish != trace::RecorderWish::Detached;
  if (is_recording) return ok();
  Result<Injector> injector = Injector::begin(pid);
  if (!injector) return injector.error();
  if (!is_loaded) {
    if (Status loaded = load(*injector, pid, library); !loaded) return loaded;
  }
  // A second pass: the loader may have been binding the references of another library in another thread. The call of
  // dlopen between them waits for it.
  if (Status taken = take_slots(*injector, pid); !taken) return taken;
  return take_slots(*injector, pid);
}

}  // namespace tare::core
