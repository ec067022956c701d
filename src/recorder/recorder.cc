// Start and end of a recording.
#include "recorder/recorder.h"

#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "recorder/base/refusal.h"
#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/events/contents.h"
#include "recorder/events/record.h"
#include "recorder/foreign/described.h"
#include "recorder/hooks/passing.h"
#include "recorder/hooks/real.h"
#include "recorder/limits/sampling_budget.h"
#include "recorder/process/bus_errors.h"
#include "recorder/process/environment.h"
#include "recorder/process/process_facts.h"
#include "recorder/spool/shared_page.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

constinit Recorder recorder;
__thread Thread* this_thread __attribute__((tls_model("initial-exec"))) = nullptr;
constinit Spool Recorder::spools_[3];
const std::uint32_t Recorder::never_alive_ = 0;

namespace {

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  if (text == nullptr) return 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  return value;
}

}  // namespace

void Recorder::read_environment(char** environment) {
  environment_ = environment;
  sample_bytes_ = number(variable(environment, trace::kEnvSampleBytes));
  const char* seed = variable(environment, trace::kEnvSampleSeed);
  sample_seed_ = seed != nullptr ? number(seed) : stamp() ^ static_cast<std::uint64_t>(sys::getpid()) << 40;
  const char* free_stacks = variable(environment, trace::kEnvFreeStacks);
  free_stacks_ = free_stacks != nullptr && std::strcmp(free_stacks, "1") == 0;
  const char* contents = variable(environment, trace::kEnvContents);
  wants_contents_ = contents != nullptr && std::strcmp(contents, "1") == 0;
  const char* record_environment = variable(environment, trace::kEnvRecordEnv);
  const char* start_paused = variable(environment, trace::kEnvStartPaused);
  start_paused_ = start_paused != nullptr && std::strcmp(start_paused, "1") == 0;
  record_environment_ = record_environment != nullptr && std::strcmp(record_environment, "1") == 0;
  launched_bytes_ = number(variable(environment, trace::kEnvSpoolBytes));
  if (launched_bytes_ == 0) launched_bytes_ = trace::kDefaultLaunchedChunks * trace::kChunkBytes;

  const char* folder = variable(environment, trace::kEnvSpoolDir);
  launched_ = folder != nullptr && folder[0] == '/';
  if (launched_) Text(directory_, sizeof(directory_)).add(folder);
  if (!launched_) read_watch_environment(environment);
}

void Recorder::name_program(const char* exe, std::uint64_t bytes) {
  if (program_[0] != '\0') return;
  std::uint64_t start = bytes;
  while (start > 0 && exe[start - 1] != '/') --start;
  Text name(program_, sizeof(program_));
  if (bytes == 0)
    name.add("program");
  else
    name.add_bytes(exe + start, bytes - start);
}

// Where no spool could be made that holds the path.
void Recorder::look_up_program() {
  if (program_[0] != '\0') return;
  char* exe = spool_->path_buffer();
  const long length = sys::call(SYS_readlinkat, AT_FDCWD, sys::word("/proc/self/exe"), sys::word(exe), kPathBytes - 1);
  name_program(exe, sys::failed(length) ? 0 : static_cast<std::uint64_t>(length));
}

void Recorder::count_unwind_gap(std::uint32_t row) {
  const trace::Row* const rows = spool_->tables().rows;
  const auto object_of = [rows](std::uint32_t which) { return rows[which].bits >> 48; };
  trace::UnwindGap* gap = spool_->header()->unwind_gaps;
  for (trace::UnwindGap* const last = gap + trace::kUnwindGaps - 1;; ++gap) {
    std::uint32_t first = 0;
    if (gap->row_plus_1.compare_exchange_strong(first, row + 1, std::memory_order_relaxed)) break;
    if (object_of(first - 1) == object_of(row) || gap == last) break;
  }
  gap->stacks.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::complain(const char* folder, Errno error) {
  // The launcher has finished: its user isn't interested in processes that outlive it.
  if (launched_ && error == ENOENT && !launcher_.connected()) return;
  look_up_program();
  char why[512];
  Text cause(why, sizeof(why));
  describe_refusal(cause, watching() ? Wanted::WatchFile : Wanted::Spool, folder, error);
  Notice notice;
  if (launched_ && (notice.leave(folder, program_, why) || launcher_.count_unrecorded())) return;
  char line[640];
  Text text(line, sizeof(line) - 1);
  text.add("tare: ").add(why).add("; ").add(program_).add(" runs unrecorded");
  say(line, text.length());
}

// Where the user stands, else $TMPDIR, else /tmp.
Errno Recorder::open_standalone() {
  const char* folders[] = {nullptr, variable(environment_, "TMPDIR"), "/tmp"};
  Errno first_error = 0;
  for (const char* folder : folders) {
    if (folder == nullptr && first_error == 0) {
      const long length = sys::call(SYS_getcwd, sys::word(directory_), kPathBytes);
      if (sys::failed(length) || directory_[0] != '/') Text(directory_, sizeof(directory_)).add("/tmp");
    } else if (folder != nullptr && folder[0] == '/') {
      Text(directory_, sizeof(directory_)).add(folder);
    } else {
      continue;
    }
    const Errno error = spool_->create(directory_, SpoolMode::Standalone, 0);
    if (error == 0) return 0;
    if (first_error == 0) first_error = error;
  }
  return first_error;
}

void Recorder::fill_header(const ForkOrigin* origin) {
  trace::SpoolHeader& header = *spool_->header();
  std::memcpy(header.magic, watching() ? trace::kWatchMagic : trace::kSpoolMagic, sizeof(header.magic));
  header.version = watching() ? trace::kWatchVersion : trace::kSpoolVersion;
  header.header_bytes = sizeof(trace::SpoolHeader);
  std::uint32_t flags = 0;
  if (!launched_) flags |= trace::kSpoolStandalone;
  if (stamps_are_clock) flags |= trace::kSpoolTscIsClock;
  if (sample_bytes_ != 0) flags |= trace::kSpoolSampled;
  if (free_stacks_) flags |= trace::kSpoolFreeStacks;
  if (contents()) flags |= trace::kSpoolContents;
  if (bypassed_) flags |= trace::kSpoolBypassed;
  if (slept_) flags |= trace::kSpoolSlept;
  if (asleep_since_ns_ != 0) {
    header.asleep_ns.store(monotonic_ns() - asleep_since_ns_, std::memory_order_relaxed);
    asleep_since_ns_ = 0;
  }
  if (origin != nullptr) {
    flags |= parent_spool_->header()->flags.load(std::memory_order_relaxed) & trace::kSpoolSlept;
    flags |= trace::kSpoolForked;
    header.fork_parent_image = origin->parent_image;
    header.fork_parent_pid = origin->parent_pid;
    header.fork_thread = origin->thread;
    header.fork_thread_events = origin->thread_events;
    header.fork_stamp = origin->stamp;
  }
  header.sample_bytes = sample_bytes_;
  header.own_ranges = reinterpret_cast<std::uint64_t>(&own_ranges());
  if (contents()) header.content_table = reinterpret_cast<std::uint64_t>(contents_of_blocks.table());
  header.flags.store(flags, std::memory_order_relaxed);
}

void Recorder::start(char** environment) {
  Phase waiting = Phase::Waiting;
  if (!phase_.compare_exchange_strong(waiting, Phase::Starting, std::memory_order_acq_rel)) {
    if (waiting == Phase::Asleep) wake_up();
    return;
  }
  if (environment == nullptr) {
    phase_.store(Phase::Waiting, std::memory_order_release);
    return;
  }
  resolve_real_functions();
  look_up_libc_entries();
  const sys::SignalsBlocked blocked;
  choose_clock();
  remember_standard_error();
  read_environment(environment);
  if (wants_to_sleep()) return fall_asleep();
  if (!make_spool(nullptr)) phase_.store(Phase::Off, std::memory_order_release);
}

// A spool for this process image; that of a forked child takes over its parent's rows. Ends with alive() == true, in
// phase Recording.
bool Recorder::make_spool(const ForkOrigin* origin) {
  constexpr int kWipeOnFork = 18;
  Errno error = arch::has_usual_pages() ? 0 : kLargerPages;
  if (error == 0 && wiped_page_ == nullptr) {
    const long page = sys::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys::failed(page))
      error = static_cast<Errno>(-page);
    else if (sys::failed(sys::madvise(reinterpret_cast<void*>(page), 4096, kWipeOnFork)))
      error = ENOSYS;
    else
      wiped_page_ = reinterpret_cast<std::uint32_t*>(page);
  }
  // A process that begins after its launcher's death would fill a spool that no trace names.
  if (error == 0 && launched_) {
    const LauncherLife life = launcher_.connected() ? launcher_.life() : launcher_.connect(directory_);
    if (life == LauncherLife::Dead) return false;
    if (sampling() && launcher_.is_disk_full()) error = kBudgetIsUsed;
  }
  const std::uint32_t most_buckets = watching() ? SampledSet::kMostBucketsOfWatch : SampledSet::kMostBuckets;
  if (error == 0 && sampling() && origin == nullptr && !sampler.prepare(sample_bytes_, sample_seed_, most_buckets)) {
    error = ENOMEM;
  }
  // Hooks of other threads, which may still work on the recording before, call contents() at any time.
  if (error == 0 && origin == nullptr) {
    contents_.store(false, std::memory_order_relaxed);
    if (wants_contents_ && !contents_of_blocks.prepare()) error = ENOMEM;
    contents_.store(wants_contents_ && error == 0, std::memory_order_release);
  }
  if (error == 0) {
    error = launched_    ? spool_->create(directory_, SpoolMode::Launched, launched_bytes_)
            : watching() ? spool_->create_watched(directory_)
                         : open_standalone();
  }
  // The launcher may have deleted all spools just before this one was there, which nobody would delete then.
  if (error == 0 && launched_ && launcher_.has_ended()) {
    spool_->discard();
    return false;
  }
  if (error == 0) {
    error = fill_spool(origin);
    if (error != 0) spool_->discard();
  }
  if (error != 0) {
    complain(directory_, error);
    return false;
  }
  make_exit_key();
  stand_in_front_of_bus_errors();
  std::uint32_t alive = alive_word();
  const trace::RecorderWish wish = rendezvous.wish.load(std::memory_order_acquire);  // a paused parent's
  if (wish == trace::RecorderWish::Asleep) {
    alive |= trace::kPausedBit;
    spool_->header()->asleep_since_ns.store(monotonic_ns(), std::memory_order_relaxed);
  }
  if (wish == trace::RecorderWish::Detached) alive |= trace::kPausedBit | trace::kDetachedBit;
  if (origin == nullptr) parent_spool_ = nullptr;  // the tables are copied
  choose_hooks();
  wiped_page_[kOwnWord] = 1;
  // Before the spool is visible to other threads: events in another phase are lost, and may be the free of a block that
  // was recorded meanwhile.
  phase_.store(Phase::Recording, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *wiped_page_ = alive;
  alive_ = wiped_page_;
  rendezvous.alive_word = reinterpret_cast<std::uint64_t>(wiped_page_);
  rendezvous.state.store(trace::RecorderState::Recording, std::memory_order_release);
  launcher_.process_changed();
  return true;
}

// Off the hooks' fast path where more has to be done than to write the event.
std::uint32_t Recorder::alive_word() const {
  if (sampling()) return allocator.glibc_headers ? kAliveSampling : kAliveSampling | kLateBit;
  return contents() || watch_rests() ? kAliveContents : kAlive;
}

void Recorder::choose_hooks() const {
  if (&tare_choose_hooks != nullptr) tare_choose_hooks(sampling() ? Hooks::Sampling : Hooks::Recording);
}

void Recorder::make_exit_key() {
  if (has_key_ || libc_entries.key_create == nullptr) return;
  pthread_key_t key;
  // A key of the first 32 has its slot in the thread itself; setting a later one would allocate.
  has_key_ = libc_entries.key_create(&key, &Recorder::on_thread_exit) == 0 && key < 32;
  key_ = key;
}

Errno Recorder::fill_spool(const ForkOrigin* origin) {
  if (parent_spool_ == nullptr) {
    write_process_facts(*spool_, record_environment_ ? KeepEnvironment::Yes : KeepEnvironment::No);
    const trace::StringRef exe = spool_->header()->exe;
    name_program(spool_->tables().strings + exe.offset, exe.length);
  } else if (const Errno error = take_over_parent(); error != 0) {
    return error;
  }
  fill_header(origin);
  if (launched_ && sampling()) sampling_budget.begin(launcher_.control(), *spool_, origin != nullptr);
  if (watching() && !watch.begin(*spool_, origin != nullptr ? parent_spool_ : nullptr)) return ENOMEM;
  attach_tables(spool_->tables());
  process_id_ = spool_->header()->pid;
  if (launched_) return spool_->publish_numbered(process_id_);
  if (watching()) {
    if (origin == nullptr) remove_own_watch_files();
    return spool_->publish_numbered(process_id_, trace::kWatchSuffix);
  }
  char name[320];
  return spool_->publish_named(
      Text(name, sizeof(name)).add("tare.").add(program_).add(".").add_number(process_id_).c_str());
}

bool Recorder::begin_exec() {
  if (!alive() || detached() || static_cast<std::uint32_t>(sys::getpid()) != process_id_) return false;
  const sys::SignalsBlocked blocked;
  Thread* thread = this_thread;
  if (thread != nullptr && !watching() && thread->gate.load(std::memory_order_relaxed) == Gate::Ready) {
    thread->gate.store(Gate::InHook, std::memory_order_relaxed);
    thread->control->busy.store(1, std::memory_order_relaxed);
    write_note(thread, trace::Op::Exec, 0);
    thread->control->busy.store(0, std::memory_order_release);
    thread->gate.store(Gate::Ready, std::memory_order_relaxed);
  }
  spool_->header()->flags.fetch_or(trace::kSpoolReplaced, std::memory_order_release);
  if (watch_rests()) resting_spool_.load()->header()->flags.fetch_or(trace::kSpoolReplaced, std::memory_order_release);
  return true;
}

void Recorder::take_back_exec() {
  constexpr std::uint32_t kOthers = ~std::uint32_t{trace::kSpoolReplaced};
  if (alive()) spool_->header()->flags.fetch_and(kOthers, std::memory_order_release);
  if (watch_rests()) resting_spool_.load()->header()->flags.fetch_and(kOthers, std::memory_order_release);
}

bool Recorder::is_own_file(const char* path) const {
  const std::size_t length = std::strlen(directory_);
  if (length == 0 || std::strncmp(path, directory_, length) != 0 || path[length] != '/') return false;
  return std::strstr(path + length, trace::kSpoolSuffix) != nullptr ||
         std::strstr(path + length, trace::kWatchSuffix) != nullptr ||
         (launched_ && std::strncmp(path + length + 1, trace::kControlName, sizeof(trace::kControlName) - 1) == 0);
}

void Recorder::flag_bypassed() {
  bypassed_ = true;
  if (alive()) spool_->header()->flags.fetch_or(trace::kSpoolBypassed, std::memory_order_release);
}

void Recorder::find_foreign_allocators() {
  bool is_recorded = false;
  char note[kForeignNoteBytes] = {};
  if (alive() && launched_ && single_threaded()) is_recorded = replace_described_allocators(directory_, note);
  if (note[0] != '\0') Notice().leave(directory_, program(), note);
  if (allocator.bypassed && !is_recorded) flag_bypassed();
}

void Recorder::note_last_facts() {
  if (watch_rests() && !borrows_memory()) end_watch(*resting_spool_.load());
  if (!alive() || detached() || phase_.load(std::memory_order_acquire) != Phase::Recording) return;
  if (static_cast<std::uint32_t>(sys::getpid()) != process_id_) return;  // the child of a vfork
  // On all exits this is the first access to memory that others could have cut short.
  const bool is_heard = launcher_.keep();
  if (!keep_shared_page(spool_->header()) || !is_heard) asked_for_exit_.store(true, std::memory_order_relaxed);
  spool_->header()->peak_rss_kib.store(peak_resident_kib(), std::memory_order_relaxed);
  write_title(*spool_->header());
  if (watching()) end_watch(*spool_);
}

void Recorder::end() {
  if (!alive() || detached() || phase_.load(std::memory_order_acquire) != Phase::Recording) return;
  trace::SpoolHeader& header = *spool_->header();
  header.end_stamp.store(stamp(), std::memory_order_relaxed);
  header.flags.fetch_or(trace::kSpoolEnded, std::memory_order_release);
  launcher_.process_changed();
}

}  // namespace tare::recorder
