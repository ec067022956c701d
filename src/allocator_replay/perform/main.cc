// tare-perform SCRIPT FD SPEED called|left-alone: performs a call script with this process's malloc and writes one JSON
// object about it to FD. SPEED: times as fast as recorded, 0 for as fast as can be. Started by `tare replay`.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocator_replay/perform/memory_use.h"
#include "allocator_replay/perform/performer.h"
#include "allocator_replay/perform/rss_series.h"

namespace tare::perform {
namespace {

// The measurement at the recording's largest heap.
struct AtPeak {
  std::uint64_t usable_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

// Starts the script's threads at their steps, and reads the memory meanwhile.
class Director {
 public:
  Director(Stage& stage, const ExactUse& before) : stage_(stage), before_(before) {}

  void run() {
    const std::uint64_t threads = stage_.script.header().thread_count;
    // by the order of their first steps: a thread is listed when it is first seen, so they ascend but for the main one
    std::uint64_t next_thread = 1;
    for (;;) {
      const std::uint64_t floor = stage_.gate.floor();
      while (next_thread < threads && stage_.script.thread(next_thread).step_count == 0) ++next_thread;
      bool has_started = false;
      while (next_thread < threads && stage_.script.thread(next_thread).first_order < floor + kWindowSteps) {
        start(next_thread++);
        has_started = true;
      }
      if (floor >= stage_.gate.held_at() && stage_.gate.held_at() != Gate::kEnded) {
        at_peak_ = {usable_bytes(stage_), above(exact_use().anonymous_bytes, before_.anonymous_bytes)};
        stage_.gate.release();
      }
      const std::uint64_t ns = now_ns() - stage_.start_ns;
      if (series_.is_due(ns))
        series_.add({ns, floor == Gate::kEnded ? stage_.script.header().step_count : floor,
                     above(resident_bytes(), before_.resident_bytes)});
      if (floor == Gate::kEnded) return;
      if (!has_started) {
        const timespec some{0, next_thread < threads ? 100'000 : 500'000};
        nanosleep(&some, nullptr);
      }
    }
  }

  const AtPeak& at_peak() const { return at_peak_; }
  const RssSeries& series() const { return series_; }

 private:
  static std::uint64_t above(std::uint64_t now, std::uint64_t before) { return now > before ? now - before : 0; }

  struct Start {
    Stage* stage;
    std::uint64_t thread;
  };
  void start(std::uint64_t i) {
    auto* const what = static_cast<Start*>(own_memory(sizeof(Start)));
    *what = {&stage_, i};
    pthread_t thread;
    const int error = pthread_create(
        &thread, nullptr,
        [](void* given) -> void* {
          const auto* const start = static_cast<const Start*>(given);
          perform(*start->stage, start->thread);
          return nullptr;
        },
        what);
    if (error != 0) {
      dprintf(2, "tare-perform: can't start thread %llu of the recording: %s\n", static_cast<unsigned long long>(i),
              std::strerror(error));
      _exit(3);
    }
    pthread_detach(thread);
  }

  Stage& stage_;
  ExactUse before_;
  AtPeak at_peak_;
  RssSeries series_;
};

double cpu_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

const char* malloc_path() {
  Dl_info info;
  return dladdr(reinterpret_cast<void*>(&malloc), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

void write_path(FILE* out, const char* path) {
  for (; *path != '\0'; ++path) {
    const auto c = static_cast<unsigned char>(*path);
    if (c < ' ' || c == '"' || c == '\\') {
      std::fprintf(out, "\\u%04x", c);
    } else {
      std::fputc(c, out);
    }
  }
}

int run(const char* script_path, int report_fd, double speed, Allocator allocator) {
  const ScriptFile script(script_path);
  Gate gate(script);
  auto* const slots = static_cast<std::atomic<void*>*>(own_memory(script.header().slot_count * sizeof(void*)));
  const ExactUse memory_before = exact_use();
  rusage before;
  getrusage(RUSAGE_SELF, &before);
  Stage stage{script, gate, slots, allocator, speed, now_ns()};
  Director director(stage, memory_before);
  pthread_t directing;
  const int error = pthread_create(
      &directing, nullptr,
      [](void* given) -> void* {
        static_cast<Director*>(given)->run();
        return nullptr;
      },
      &director);
  if (error != 0) {
    dprintf(2, "tare-perform: can't start a thread: %s\n", std::strerror(error));
    return 3;
  }
  perform(stage, 0);
  pthread_join(directing, nullptr);

  const std::uint64_t wall_ns = now_ns() - stage.start_ns;
  const std::uint64_t peak =
      peak_heap_bytes(script.header().thread_count + 1, memory_before, director.at_peak().resident_bytes);
  rusage after;
  getrusage(RUSAGE_SELF, &after);
  // from here on the heap is used again
  FILE* const out = fdopen(report_fd, "w");
  if (out == nullptr) return 3;
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::fputs("{\"malloc\": \"", out);
  write_path(out, malloc_path());
  std::fprintf(out,
               "\", \"peak_heap_rss_bytes\": %llu, \"heap_rss_at_peak_bytes\": %llu, \"usable_at_peak_bytes\": %llu, "
               "\"resident_before_bytes\": %llu, \"user_s\": %.6f, \"system_s\": %.6f, \"wall_s\": %.6f, \"faults\": "
               "%ld, \"failed_calls\": %llu, \"copied_bytes\": %llu, ",
               number(peak), number(director.at_peak().resident_bytes), number(director.at_peak().usable_bytes),
               number(memory_before.resident_bytes), cpu_seconds(after.ru_utime) - cpu_seconds(before.ru_utime),
               cpu_seconds(after.ru_stime) - cpu_seconds(before.ru_stime), static_cast<double>(wall_ns) / 1e9,
               after.ru_minflt - before.ru_minflt, number(stage.failed_calls.load()),
               number(stage.copied_bytes.load()));
  std::fputs("\"rss\": [", out);
  const RssSeries& series = director.series();
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::uint64_t last = script.header().step_count == 0 ? 0 : script.header().step_count - 1;
    const auto order = static_cast<std::uint32_t>(series[i].order < last ? series[i].order : last);
    std::fprintf(out, "%s[%llu, %llu, %llu, %llu]", i == 0 ? "" : ", ", number(series[i].ns), number(series[i].order),
                 number(series[i].bytes), number(script.time_ns(order)));
  }
  std::fputs("]}\n", out);
  return std::fclose(out) == 0 ? 0 : 3;
}

}  // namespace
}  // namespace tare::perform

int main(int count, char** words) {
  using namespace tare::perform;
  if (count != 5) {
    dprintf(2, "tare-perform: is started by `tare replay`\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed profiler doesn't read the result
  const Allocator allocator = std::strcmp(words[4], "left-alone") == 0 ? Allocator::LeftAlone : Allocator::Called;
  return run(words[1], std::atoi(words[2]), std::strtod(words[3], nullptr), allocator);
}
