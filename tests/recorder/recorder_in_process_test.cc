// The recorder's logic inside this process, made-up blocks instead of hooks: so that sanitizers see it.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "arch_code.h"
#include "recorder/events/record.h"
#include "recorder/recorder.h"
#include "spool_dump.h"

namespace tare::recorder {
namespace {

namespace fs = std::filesystem;
using test::RawEvent;
using test::Replayed;
using test::SpoolImage;
using test::ThreadEvents;

// Addresses that only these tests use: nothing is read or written there.
std::uint64_t made_up(int thread, int block) {
  return 0x10'0000'0000 + static_cast<std::uint64_t>(thread) * 0x1'0000'0000 + static_cast<std::uint64_t>(block) * 64;
}

__attribute__((noinline)) void alloc(std::uint64_t address, std::uint64_t bytes) {
  record_alloc(TARE_HERE, Block{address, bytes, bytes + 8, trace::AllocApi::Malloc, 0, 0});
}
__attribute__((noinline)) void release(std::uint64_t address) { record_free(TARE_HERE, address, trace::FreeApi::Free); }

// Started once: the recorder is one a process.
class RecorderInProcess : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/tare-test-XXXXXX";
    folder_ = new std::string(mkdtemp(name));
    static std::string variable = std::string(trace::kEnvSpoolDir) + "=" + *folder_;
    static char* environment[] = {variable.data(), nullptr};
    recorder.start(environment);
    ASSERT_TRUE(recorder.alive());
  }
  static void TearDownTestSuite() {
    fs::remove_all(*folder_);
    delete folder_;
  }
  static SpoolImage image(std::uint32_t pid) {
    return test::read_spool(*folder_ + "/" + std::to_string(pid) + ".0" + trace::kSpoolSuffix);
  }
  static SpoolImage image() { return image(static_cast<std::uint32_t>(getpid())); }
  static std::uint64_t count(const SpoolImage& image, std::uint64_t requested) {
    std::uint64_t found = 0;
    for (const ThreadEvents& thread : image.threads()) {
      for (const RawEvent& event : thread.events) found += event.op == trace::Op::Alloc && event.requested == requested;
    }
    return found;
  }
  // Requested bytes of the event with `first` bytes and of its thread's later events; 0 for a free.
  static std::vector<std::uint64_t> requests_since(const SpoolImage& image, std::uint64_t first) {
    std::vector<std::uint64_t> requests;
    for (const ThreadEvents& thread : image.threads()) {
      for (const RawEvent& event : thread.events) {
        if (event.op == trace::Op::CallCost) continue;
        if (event.requested == first || !requests.empty()) requests.push_back(event.requested);
      }
      if (!requests.empty()) break;  // threads come in any order
    }
    return requests;
  }

  static std::string* folder_;
};
std::string* RecorderInProcess::folder_ = nullptr;

TEST_F(RecorderInProcess, ThreadsWriteTheirOwnStreams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 20'000; ++i) {
        alloc(made_up(t, i), 111);
        if (i % 2 == 0) release(made_up(t, i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const SpoolImage spool = image();
  EXPECT_EQ(count(spool, 111), 80'000u);
  const Replayed replayed = spool.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
  EXPECT_EQ(replayed.backward_stamps, 0u);
}

TEST_F(RecorderInProcess, ThreadBlocksAreUsedAgain) {
  for (int i = 0; i < 200; ++i) {
    std::thread([i] { alloc(made_up(10, i), 222); }).join();
  }
  EXPECT_EQ(count(image(), 222), 200u);
}

TEST_F(RecorderInProcess, ReallocsHoldBothStamps) {
  alloc(made_up(11, 0), 300);
  const StartState here = TARE_HERE;
  Thread* thread = this_thread;
  enter(thread, here);
  const ReallocBegin begin = begin_realloc(thread, here);
  write_realloc(thread, begin, made_up(11, 0),
                Block{made_up(11, 1), 333, std::uint64_t{5} << 30, trace::AllocApi::Realloc, 0, 0});
  leave(thread);
  const SpoolImage spool = image();
  bool found = false;
  for (const ThreadEvents& stream : spool.threads()) {
    for (const RawEvent& event : stream.events) {
      if (event.op != trace::Op::Realloc || event.requested != 333) continue;
      found = true;
      EXPECT_EQ(event.old, made_up(11, 0));
      EXPECT_EQ(event.usable, std::uint64_t{5} << 30);  // more slop than word 0 holds
      EXPECT_LE(event.stamp, event.after);
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(RecorderInProcess, NestedEventsFollowTheOuterOne) {
  alloc(made_up(12, 0), 400);
  Thread* thread = this_thread;
  const StartState outer = TARE_HERE;
  enter(thread, outer);
  const ReallocBegin begin = begin_realloc(thread, outer);  // takes its room
  // As from a handler: the gate is closed, the frames are below ours.
  alloc(made_up(12, 1), 444);
  release(made_up(12, 1));
  write_realloc(thread, begin, made_up(12, 0), {made_up(12, 2), 4444, 4444, trace::AllocApi::Realloc, 0, 0});
  leave(thread);
  const SpoolImage spool = image();
  EXPECT_EQ(requests_since(spool, 4444), (std::vector<std::uint64_t>{4444, 444, 0}));
  EXPECT_EQ(spool.replay().backward_stamps, 0u);
}

TEST_F(RecorderInProcess, NestedEventsComeBeforeTheNextHandlers) {
  alloc(made_up(18, 0), 700);
  Thread* thread = this_thread;
  const StartState outer = TARE_HERE;
  enter(thread, outer);
  write_alloc(thread, outer, {made_up(18, 1), 701, 701, trace::AllocApi::Malloc, 0, 0});
  alloc(made_up(18, 2), 702);
  release(made_up(18, 2));
  thread->gate.store(Gate::Ready);  // leave() has come to here when another handler interrupts it
  alloc(made_up(18, 2), 703);
  release(made_up(18, 2));
  leave_slowly(thread);
  const SpoolImage spool = image();
  EXPECT_EQ(requests_since(spool, 701), (std::vector<std::uint64_t>{701, 702, 0, 703, 0}));
  EXPECT_EQ(spool.replay().impossible, 0u);
}

void allocate_twice(int) {
  alloc(made_up(19, 1), 801);
  alloc(made_up(19, 2), 802);
}

TEST_F(RecorderInProcess, AHandlerBeforeTheFrameIsNotedIsNested) {
  alloc(made_up(19, 0), 800);
  signal(SIGTRAP, allocate_twice);
  Thread* thread = this_thread;
  // Another function has been called at the place of the last hook's caller by now.
  thread->outer_sp = TARE_CALLERS_SP;
  thread->outer_return = 1;
  thread->gate.store(Gate::InHook);  // enter() has come to here
  TARE_TRAP;                         // the signal interrupts the recorder's own code, as raise() doesn't
  EXPECT_EQ(thread->gate.load(), Gate::InHook);
  const StartState outer = TARE_HERE;
  enter(thread, outer);
  write_alloc(thread, outer, {made_up(19, 3), 803, 803, trace::AllocApi::Malloc, 0, 0});
  leave(thread);
  EXPECT_EQ(requests_since(image(), 801), (std::vector<std::uint64_t>{801, 802, 803}));
}

TEST_F(RecorderInProcess, AJumpBeforeTheFrameIsNotedIsNoticed) {
  alloc(made_up(21, 0), 1000);
  this_thread->gate.store(Gate::InHook);
  alloc(made_up(21, 1), 1001);
  EXPECT_EQ(this_thread->gate.load(), Gate::Ready);
  EXPECT_EQ(requests_since(image(), 1000), (std::vector<std::uint64_t>{1000, 1001}));
}

TEST_F(RecorderInProcess, AnEventThatAJumpLeftHalfCountedIsNone) {
  alloc(made_up(20, 0), 900);
  Thread* thread = this_thread;
  const StartState gone{1, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) - 2048, 0};
  for (const bool is_counted : {false, true}) {
    enter(thread, gone);
    *thread->cursor++ = 1;  // commit() has come to here
    thread->events += is_counted;
    alloc(made_up(20, 1 + is_counted), 901);
    EXPECT_EQ(thread->gate.load(), Gate::Ready);
  }
  EXPECT_EQ(requests_since(image(), 900), (std::vector<std::uint64_t>{900, 901, 901}));
}

TEST_F(RecorderInProcess, HooksLeftForGoodAreNoticed) {
  alloc(made_up(13, 0), 500);
  Thread* thread = this_thread;
  const StartState gone{1, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) - 2048,
                        0};  // deeper than we are
  enter(thread, gone);
  alloc(made_up(13, 1), 555);
  EXPECT_EQ(thread->gate.load(), Gate::Ready);
  EXPECT_EQ(count(image(), 555), 1u);
}

TEST_F(RecorderInProcess, ForkedChildrenHaveTheirOwnSpool) {
  alloc(made_up(14, 0), 600);
  const std::uint64_t before = this_thread->events;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 5000; ++i) alloc(made_up(15, i), 666);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const SpoolImage spool = image(static_cast<std::uint32_t>(child));
  EXPECT_EQ(count(spool, 666), 5000u);
  EXPECT_EQ(count(image(), 666), 0u);
  EXPECT_EQ(spool.header().fork_thread_events, before);
  EXPECT_EQ(spool.header().fork_parent_pid, static_cast<std::uint32_t>(getpid()));
}

volatile sig_atomic_t handled_while_waiting = 0;

// A thread in a hook has a chunk, but for where it waits for one.
void note_whether_it_waits(int) {
  const bool waits = this_thread->gate.load() == Gate::InHook && this_thread->chunk == kNoChunk;
  handled_while_waiting = handled_while_waiting + waits;
  alloc(made_up(17, handled_while_waiting), 444);
}

// Nobody drains: a child's spool fills up.
TEST_F(RecorderInProcess, AFullSpoolWaitsWithSignalsDelivered) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer delivers signals late: in 1 of 14 runs none came during the wait";
#endif
  const pid_t child = fork();
  if (child == 0) {
    struct sigaction action = {};
    action.sa_handler = note_whether_it_waits;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often = {{0, 1000}, {0, 1000}};
    alloc(made_up(16, 0), 555);  // makes the child's spool, which the handler must find
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; recorder.spool().header()->dropped_events.load() == 0; ++i) alloc(made_up(16, i % 1000), 555);
    const itimerval never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
    _exit(handled_while_waiting > 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tare::recorder
