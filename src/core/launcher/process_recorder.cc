// Reading and writing the rendezvous: see process_recorder.h.
#include "core/launcher/process_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/launcher/rendezvous_view.h"
#include "core/process_memory/memory_map.h"
#include "trace/open/finish_leftover.h"
#include "trace/spool/spool_layout.h"
#include "trace/watch/watch_layout.h"

namespace tare::core {

using trace::RecorderState;
using trace::RecorderWish;
using trace::Rendezvous;

namespace {

constexpr std::uint64_t kMostSlots = 1 << 20;
constexpr std::uint64_t kMostData = 16 << 20;  // the library's data is some KB: more is another file of that name

bool is_library(const MappedRange& mapped) { return mapped.name.find("/libtare-record.so") != std::string::npos; }

// Of a launcher, there or gone: "/dev/shm/tare-XXXXXX/control (deleted)".
bool is_control(const MappedRange& mapped) {
  const std::size_t slash = mapped.name.rfind('/');
  if (slash == std::string::npos) return false;
  const std::string folder = mapped.name.substr(0, slash);
  return mapped.name.compare(slash + 1, std::strlen(trace::kControlName), trace::kControlName) == 0 &&
         folder.substr(folder.rfind('/') + 1).starts_with("tare-");
}

Error not_reached(pid_t pid, const std::string& why) {
  return {ErrorKind::CannotRecord, "the recorder of process " + std::to_string(pid) + " can't be reached: " + why};
}

}  // namespace

bool has_recorder(pid_t pid) {
  for (const MappedRange& mapped : memory_map_of(pid)) {
    if (is_library(mapped)) return true;
  }
  return false;
}

ProcessRecorder::ProcessRecorder(ProcessRecorder&& other) noexcept
    : pid_(other.pid_),
      memory_(std::exchange(other.memory_, -1)),
      library_(std::move(other.library_)),
      address_(other.address_),
      state_(other.state_),
      wish_(other.wish_),
      orders_(other.orders_),
      directory_(std::move(other.directory_)),
      alive_word_(other.alive_word_),
      alive_(other.alive_),
      slots_(other.slots_),
      slot_count_(other.slot_count_) {}

ProcessRecorder::~ProcessRecorder() {
  if (memory_ >= 0) ::close(memory_);
}

Result<ProcessRecorder> ProcessRecorder::find(const FrozenProcess& process) {
  const pid_t pid = process.pid();
  const int memory = ::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  if (memory < 0) return not_reached(pid, std::strerror(errno));
  ProcessRecorder recorder(pid, memory);
  bool seen = false;
  for (const MappedRange& mapped : memory_map_of(pid)) {
    if (!is_library(mapped)) continue;
    seen = true;
    const std::uint64_t bytes = mapped.range.end - mapped.range.start;
    if (!mapped.readable || !mapped.writable || mapped.shared || bytes > kMostData) continue;
    std::vector<char> data(bytes);
    if (::pread(memory, data.data(), bytes, static_cast<off_t>(mapped.range.start)) != static_cast<ssize_t>(bytes))
      continue;
    const std::optional<std::size_t> at = find_rendezvous(data);
    if (!at) continue;
    recorder.address_ = mapped.range.start + *at;
    recorder.library_ = mapped.name;
    if (Status status = recorder.read_state(); !status) return status.error();
    return recorder;
  }
  return not_reached(pid, seen ? "its library is another version's; restart the program under this one"
                               : "the program wasn't started with it (tare run --start-paused, or LD_PRELOAD)");
}

Status ProcessRecorder::read_state() {
  char bytes[sizeof(Rendezvous)];
  if (::pread(memory_, bytes, sizeof(bytes), static_cast<off_t>(address_)) != sizeof(bytes)) {
    return not_reached(pid_, std::strerror(errno));
  }
  const std::optional<RendezvousFacts> found = read_rendezvous(bytes);
  if (!found) return not_reached(pid_, "its library is another version's; restart the program under this one");
  state_ = found->state;
  wish_ = found->wish;
  orders_ = found->orders;
  directory_ = found->directory;
  alive_word_ = found->alive_word;
  slots_ = found->slots;
  slot_count_ = found->slot_count;
  if (alive_word_ != 0) {
    if (::pread(memory_, &alive_, sizeof(alive_), static_cast<off_t>(alive_word_)) != sizeof(alive_)) {
      return not_reached(pid_, std::strerror(errno));
    }
  }
  return ok();
}

bool ProcessRecorder::is_awake() const {
  return state_ == RecorderState::Recording && (alive_ & trace::kPausedBit) == 0 && wish_ != RecorderWish::Asleep &&
         wish_ != RecorderWish::Detached;
}

bool ProcessRecorder::is_waited_for() const {
  const bool has_begun = state_ == RecorderState::Recording && alive_ != 0;
  return wish_ == RecorderWish::Awake && !has_begun && !directory_.empty() && trace::launcher_lives(directory_ + "/");
}

bool ProcessRecorder::is_let_go() const {
  if (state_ != RecorderState::Recording) return false;
  if (wish_ == RecorderWish::Detached) return true;
  bool was_launched = false;
  for (const MappedRange& mapped : memory_map_of(pid_)) {
    // A watched process needs no launcher, and may have one.
    was_launched = was_launched || mapped.name.find(trace::kWatchSuffix) != std::string::npos;
    if (!is_control(mapped)) continue;
    was_launched = true;
    if (trace::launcher_lives(mapped.name)) return false;
  }
  return was_launched;
}

Status ProcessRecorder::write(std::uint64_t address, const void* bytes, std::size_t count) {
  if (::pwrite(memory_, bytes, count, static_cast<off_t>(address)) == static_cast<ssize_t>(count)) return ok();
  return not_reached(pid_, std::strerror(errno));
}

Status ProcessRecorder::put_wish(RecorderWish wish) {
  wish_ = wish;
  return write(address_ + offsetof(Rendezvous, wish), &wish, sizeof(wish));
}

// In a forked child the word is zero until its first event, which reads the request. Any other value would count as a
// spool, which the child doesn't have.
Status ProcessRecorder::put_alive_bits(std::uint32_t bits) {
  if (alive_word_ == 0 || alive_ == 0) return ok();
  alive_ = (alive_ & ~(trace::kPausedBit | trace::kDetachedBit)) | bits;
  return write(alive_word_, &alive_, sizeof(alive_));
}

Status ProcessRecorder::wake(const WakingOptions& options) {
  const bool orders = !options.directory.empty();
  if (orders) {
    if (options.directory.size() >= sizeof(Rendezvous::directory)) {
      return not_reached(pid_, "the path of its private folder is too long; set TMPDIR to a shorter one");
    }
    Status status = write(address_ + offsetof(Rendezvous, sample_bytes), &options.sample_bytes, sizeof(std::uint64_t));
    if (status) {
      status = write(address_ + offsetof(Rendezvous, spool_flags), &options.spool_flags, sizeof(options.spool_flags));
    }
    if (status) {
      status =
          write(address_ + offsetof(Rendezvous, directory), options.directory.c_str(), options.directory.size() + 1);
    }
    ++orders_;
    if (status) status = write(address_ + offsetof(Rendezvous, orders), &orders_, sizeof(orders_));
    if (!status) return status;
  }
  if (Status status = put_wish(RecorderWish::Awake); !status) return status;
  if (!orders || alive_word_ == 0) return put_alive_bits(0);
  alive_ = 0;  // as in a forked child: the next event is the new recording's first
  return write(alive_word_, &alive_, sizeof(alive_));
}

Status ProcessRecorder::take_back() {
  if (wish_ != RecorderWish::Awake || (state_ == RecorderState::Recording && alive_ != 0)) return ok();
  return put_wish(state_ == RecorderState::Asleep ? RecorderWish::None : RecorderWish::Detached);
}

Status ProcessRecorder::pause() {
  if (Status status = put_wish(RecorderWish::Asleep); !status) return status;
  return put_alive_bits(trace::kPausedBit);
}

// A slot whose module was unloaded meanwhile doesn't hold the recorder's address any more.
Status ProcessRecorder::return_slots() {
  if (slots_ == 0 || slot_count_ > kMostSlots) return ok();
  std::vector<trace::TakenSlot> slots(slot_count_);
  const std::size_t bytes = slots.size() * sizeof(trace::TakenSlot);
  if (::pread(memory_, slots.data(), bytes, static_cast<off_t>(slots_)) != static_cast<ssize_t>(bytes)) return ok();
  for (const trace::TakenSlot& slot : slots) {
    std::uint64_t value = 0;
    const ssize_t got = ::pread(memory_, &value, sizeof(value), static_cast<off_t>(slot.address));
    if (got != sizeof(value) || value != slot.ours) continue;
    if (Status status = write(slot.address, &slot.before, sizeof(slot.before)); !status) return status;
  }
  return ok();
}

Status ProcessRecorder::detach() {
  if (Status status = return_slots(); !status) return status;
  if (Status status = put_wish(RecorderWish::Detached); !status) return status;
  return put_alive_bits(trace::kPausedBit | trace::kDetachedBit);
}

}  // namespace tare::core
