// The source of a thread's next chunk: returned by the launcher, new, after a wait, or none.
#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/events/nested.h"
#include "recorder/events/record.h"
#include "recorder/recorder.h"
#include "trace/spool/spool_event_size.h"

namespace tare::recorder {

namespace {

// For a launcher that doesn't move. At nice 10 beside seven runnable processes on two processors one stood still for
// more than 100 ms, and 384,600 events were dropped.
constexpr std::uint64_t kLongestWaitNs = 1'000'000'000;
// For a launcher that hasn't looked at the process yet. It usually has before 1 MiB is filled.
constexpr std::uint64_t kLimitWaitNs = 200'000'000;
constexpr std::uint64_t kLifeCheckPeriodNs = 500'000'000;
constexpr std::uint64_t kWaitingLifeCheckNs = 50'000'000;  // while the program waits for the launcher

constexpr std::uint64_t kFirstBytes = 4096;  // of a thread's first chunk
constexpr std::uint64_t kNotesBytes = 128;   // the words of open_chunk()

}  // namespace

std::uint32_t Recorder::take_or_grow(std::uint64_t bytes) {
  std::uint32_t chunk = spool_->pop_free();
  if (chunk != kNoChunk) return chunk;
  if (!lock_.lock()) return kNoChunk;
  chunk = spool_->pop_free();
  if (chunk == kNoChunk) chunk = spool_->grow(bytes);
  lock_.unlock();
  return chunk;
}

// A dead launcher returns no chunks: the spool is full, and the recording ends here. A spool without a reader must not
// take memory from the machine for as long as the program runs.
void Recorder::check_launcher() {
  if (!launched_) return;
  next_life_check_ns_.store(monotonic_ns() + kLifeCheckPeriodNs, std::memory_order_relaxed);
  if (launcher_.life() != LauncherLife::Dead) return;
  if (spool_->is_limit_open()) return spool_->decide_limit();  // it died before it looked at this process
  spool_->header()->flags.fetch_or(trace::kSpoolOrphaned, std::memory_order_release);
  // As if the launcher had detached: another may attach.
  rendezvous.wish.store(trace::RecorderWish::Detached, std::memory_order_release);
  *wiped_page_ |= trace::kPausedBit | trace::kDetachedBit;
}

// Handlers run while it waits. They find the hook with no chunk, and queue their events, until the queue is half full:
// a timer of 10 kHz fills it in 80 ms.
std::uint32_t Recorder::take_chunk(const Thread* thread, std::uint64_t bytes, const sys::SignalsBlocked& blocked) {
  std::uint32_t chunk = take_or_grow(bytes);
  if (chunk != kNoChunk) return chunk;
  const std::uint64_t begin = monotonic_ns();
  if (begin >= next_life_check_ns_.load(std::memory_order_relaxed)) {
    check_launcher();
    if (!alive() || detached()) return kNoChunk;
    chunk = take_or_grow(bytes);
  }
  if (dropping_.load(std::memory_order_relaxed) || !launched_) return chunk;
  // A slow launcher must not cost events, and a stopped one must not hold the program up: the wait starts again
  // whenever a chunk was drained or returned, even another thread's. The wait is the sum of the requested pauses: on a
  // busy machine, where the launcher gets no processor for a while, they take longer.
  trace::SpoolHeader& header = *spool_->header();
  std::uint64_t given_back = header.free_chunks.load(std::memory_order_relaxed);
  std::uint32_t full = header.full_chunks.load(std::memory_order_relaxed);
  std::uint64_t waited_ns = 0;
  std::uint64_t next_check_ns = kWaitingLifeCheckNs;
  std::int64_t pause_ns = 50'000;
  while (chunk == kNoChunk && waited_ns < kLongestWaitNs) {
    launcher_.wake();
    const std::uint64_t begin_ns = monotonic_ns();
    if (is_queue_half_full(thread)) {
      sys::sleep_ns(pause_ns);
    } else {
      blocked.sleep_unblocked(pause_ns);
    }
    const std::uint64_t slept_ns = monotonic_ns() - begin_ns;
    if (is_inherited()) return kNoChunk;  // a handler forked
    waited_ns += slept_ns < static_cast<std::uint64_t>(pause_ns) ? slept_ns : static_cast<std::uint64_t>(pause_ns);
    if (pause_ns < 2'000'000) pause_ns *= 2;
    if (waited_ns >= kLimitWaitNs) spool_->decide_limit();
    chunk = take_or_grow(bytes);
    const std::uint64_t given_back_now = header.free_chunks.load(std::memory_order_relaxed);
    const std::uint32_t full_now = header.full_chunks.load(std::memory_order_relaxed);
    if (given_back_now != given_back || full_now < full) {
      waited_ns = 0;
      next_check_ns = kWaitingLifeCheckNs;
    }
    given_back = given_back_now;
    full = full_now;
    if (chunk == kNoChunk && waited_ns >= next_check_ns) {
      next_check_ns += kWaitingLifeCheckNs;
      check_launcher();
      if (!alive() || detached()) return kNoChunk;
    }
  }
  return chunk;
}

bool Recorder::extend_chunk(Thread* thread, std::uint64_t words) {
  if (thread->chunk == kNoChunk) return false;
  std::uint64_t* const end = thread->begin + trace::kChunkBytes / sizeof(std::uint64_t);
  if (thread->end == end || static_cast<std::uint64_t>(end - thread->cursor) < words) return false;
  const sys::SignalsBlocked blocked;
  drop_parents_spool();
  const std::uint64_t used = static_cast<std::uint64_t>(thread->cursor - thread->begin) + words;
  if (!spool_->extend(thread->chunk, used * sizeof(std::uint64_t))) return false;
  thread->end = thread->begin + spool_->control(thread->chunk).real_bytes / sizeof(std::uint64_t);
  thread->unwinder.forget();  // the capture that found no room stays unwritten
  return true;
}

bool Recorder::next_chunk(Thread* thread, std::uint64_t words) {
  if (is_inherited()) return false;
  if (watching()) return make_watched_room(thread, words);
  if (has_queued(thread)) {
    const sys::SignalsBlocked blocked;
    write_queued(thread);
    if (has_room(thread, words)) return true;
  }
  if (extend_chunk(thread, words)) return true;
  if (dropping_.load(std::memory_order_relaxed) && !spool_->has_free() &&
      monotonic_ns() < next_life_check_ns_.load(std::memory_order_relaxed)) {
    return false;
  }
  const sys::SignalsBlocked blocked;
  give_up_chunk(thread);  // still marked busy: older stamps than the next chunk's may wait in the queue
  // Most threads of a program with thousands make few events and wait: a thread's first chunk begins with a page.
  const bool is_first = !thread->said_start;
  const std::uint64_t needed = words * sizeof(std::uint64_t) + kNotesBytes;
  const std::uint64_t bytes = is_first && needed <= kFirstBytes ? kFirstBytes : trace::kChunkBytes;
  const std::uint32_t epoch = thread->epoch;
  const std::uint32_t chunk = take_chunk(thread, bytes, blocked);
  if (is_inherited()) return false;
  if (thread->epoch != epoch) {  // a handler didn't return, and this hook was left
    if (chunk != kNoChunk) spool_->keep(chunk);
    return false;
  }
  dropping_.store(chunk == kNoChunk, std::memory_order_relaxed);
  if (chunk == kNoChunk) {
    if (spool_->is_unbounded()) complain_of_full_disk();
    next_life_check_ns_.store(monotonic_ns() + kLifeCheckPeriodNs, std::memory_order_relaxed);
    return false;
  }
  if (chunk != 0) revalidate_modules();  // reads a page of each module, and most processes have one chunk
  open_chunk(thread, chunk);
  const bool has_waited_for = has_queued(thread);  // events of handlers that ran meanwhile
  if (has_waited_for) write_queued(thread);
  if (has_room(thread, words) || extend_chunk(thread, words)) return true;  // a returned chunk may be a first chunk
  return has_waited_for && next_chunk(thread, words);
}

void Recorder::prepare_for_filter() {
  constexpr int kChunks = 256;  // 16 MiB: 40 ms of a program that does nothing but allocate
  constexpr std::uint64_t kRowBytes = 1 << 20;
  constexpr std::uint64_t kOtherBytes = 256 << 10;
  if (!alive()) return;
  const sys::SignalsBlocked blocked;
  if (watching()) return make_watch_file_real();
  if (!lock_.lock()) return;
  for (int i = 0; i < kChunks; ++i) {
    const std::uint32_t chunk = spool_->grow(trace::kChunkBytes);
    if (chunk == kNoChunk) break;
    spool_->keep(chunk);
  }
  lock_.unlock();
  const trace::SpoolHeader& header = *spool_->header();
  using Region = Tables::Region;
  spool_->ensure(Region::Rows, header.row_count.load() * sizeof(trace::Row) + kRowBytes);
  spool_->ensure(Region::Modules, header.module_count.load() * sizeof(trace::ModuleEntry) + kOtherBytes);
  spool_->ensure(Region::Strings, header.string_bytes.load() + kOtherBytes);
}

void Recorder::stop() {
  if (!alive()) return;
  alive_ = &never_alive_;
  phase_.store(Phase::Off, std::memory_order_release);
}

// The other spool is a parent's, or of an earlier recording.
bool Recorder::outlive_cut_file(std::uint64_t address) {
  if (launcher_.replace_page(address)) return true;
  if (spool_->replace_mapping(address)) {
    if (alive() && !launched_) complain_of_cut_spool();
    stop();
    return true;
  }
  for (Spool& each : spools_) {
    if (!each.replace_mapping(address)) continue;
    if (&each == resting_spool_.load(std::memory_order_relaxed)) resting_spool_.store(nullptr);
    return true;
  }
  return false;
}

void Recorder::flag_unheard() {
  if (alive()) spool_->header()->flags.fetch_or(trace::kSpoolUnheard, std::memory_order_release);
  launcher_.wake();
}

// No room will be made: printed once, while the user can still act.
void Recorder::complain_of_full_disk() {
  if (said_full_) return;
  said_full_ = true;
  char line[640];
  Text text(line, sizeof(line) - 1);
  text.add("tare: ").add(spool_->path()).add(" can't grow, no space left; ").add(program_);
  text.add(" runs on, what it does from now on is counted but not recorded");
  say(line, text.length());
}

// If there is a launcher, it prints the warning.
void Recorder::complain_of_cut_spool() {
  char line[640];
  Text text(line, sizeof(line) - 1);
  text.add("tare: ").add(spool_->path()).add(" was cut short by another program; ").add(program_);
  text.add(" runs on, what it does from now on is not recorded");
  say(line, text.length());
}

void Recorder::give_up_chunk(Thread* thread) {
  if (thread->chunk == kNoChunk) return;
  // A hook that waits for its next chunk is still under way: otherwise a handler would note a frame of the wait for the
  // hook's, and the next handler would find that frame gone and drop the hook's event.
  thread->idle_control.busy.store(thread->control->busy.load(std::memory_order_relaxed), std::memory_order_relaxed);
  spool_->finish(thread->chunk);
  launcher_.chunk_filled(spool_->header()->full_chunks.load(std::memory_order_relaxed));
  thread->chunk = kNoChunk;
  thread->control = &thread->idle_control;
  thread->cursor = thread->end = thread->begin = nullptr;
}

void Recorder::recount(Thread* thread) {
  if (thread->chunk == kNoChunk) return;
  const trace::ChunkControl& control = *thread->control;
  const std::uint64_t committed = control.committed.load(std::memory_order_relaxed) / sizeof(std::uint64_t);
  if (committed > trace::kChunkBytes / sizeof(std::uint64_t)) return;
  std::uint64_t events = 0;
  for (std::uint64_t at = 0; at < committed; ++events) {
    const std::uint64_t words = trace::event_words(thread->begin + at, committed - at);
    if (words == 0) return;
    at += words;
  }
  thread->cursor = thread->begin + committed;
  thread->events = control.first_event + events;
}

void Recorder::set_end(Thread* thread) {
  if (thread->begin != nullptr && thread->begin == thread->watched_words)
    thread->end = thread->begin + trace::kChunkBytes / sizeof(std::uint64_t);
  if (thread->chunk == kNoChunk) return;
  thread->end = thread->begin + spool_->control(thread->chunk).real_bytes / sizeof(std::uint64_t);
}

void Recorder::open_chunk(Thread* thread, std::uint32_t chunk) {
  trace::ChunkControl& control = spool_->control(chunk);
  control.thread = thread->id;
  control.thread_chunk = thread->next_chunk++;
  control.first_event = thread->events;
  control.committed.store(0, std::memory_order_relaxed);
  control.busy.store(
      1, std::memory_order_relaxed);  // a hook is under way: it stamps its event when this chunk can be seen
  control.tid = static_cast<std::uint32_t>(thread->tid);
  control.open_monotonic_ns = monotonic_ns();
  control.open_stamp = stamp();
  control.state.store(trace::ChunkState::Open, std::memory_order_release);
  thread->chunk = chunk;
  thread->control = &control;
  thread->begin = thread->cursor = spool_->payload(chunk);
  set_end(thread);
  thread->gap_start = 0;
  thread->unwinder.forget();
  time_next_call();
  if (!thread->said_start) {
    thread->said_start = true;
    write_note(thread, trace::Op::ThreadStart, static_cast<std::uint64_t>(thread->tid));
  }
  if (thread->dropped != 0) {
    write_note(thread, trace::Op::Dropped, thread->dropped);
    thread->dropped = 0;
  }
}

// Events that handlers queue before the thread's first chunk is open would be stamped where the launcher expects no
// event of it any more.
void Recorder::open_first_chunk(Thread* thread) {
  const sys::SignalsBlocked blocked;
  if (thread->chunk != kNoChunk || thread->said_start || is_inherited()) return;
  thread->gate.store(Gate::InHook, std::memory_order_relaxed);
  if (const std::uint32_t chunk = take_or_grow(kFirstBytes); chunk != kNoChunk) {
    if (chunk != 0) revalidate_modules();
    open_chunk(thread, chunk);
    thread->control->busy.store(0, std::memory_order_release);
  }
  thread->gate.store(Gate::Ready, std::memory_order_relaxed);
}

void Recorder::close_chunk(Thread* thread) {
  thread->control->busy.store(0, std::memory_order_relaxed);
  give_up_chunk(thread);
}

void Recorder::count_dropped(Thread* thread, std::uint64_t events) {
  spool_->header()->dropped_events.fetch_add(events, std::memory_order_relaxed);
  thread->dropped += events;
  thread->unwinder.forget();
}

}  // namespace tare::recorder
