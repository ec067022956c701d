// The launcher without the front end, for tests and measurements: launch_command RECORDER OUTPUT [--no-summary]
// [--content]
// [--no-wait] -- COMMAND...
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "core/launcher/launcher.h"

int main(int argc, char** argv) {
  tare::core::LaunchOptions options;
  int at = 1;
  if (argc > 2) {
    options.recorder_library = argv[1];
    options.output = argv[2];
    at = 3;
  }
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    if (std::strcmp(argv[at], "--no-summary") == 0) options.summarize = tare::core::Summarize::No;
    if (std::strcmp(argv[at], "--content") == 0) {
      options.contents = tare::core::RecordContents::Yes;
      options.snapshots = tare::core::TakeSnapshots::PeaksAndExit;
    }
    if (std::strcmp(argv[at], "--no-wait") == 0) options.wait_for = tare::core::WaitFor::FirstProcess;
  }
  for (++at; at < argc; ++at) options.command.push_back(argv[at]);
  const auto outcome = tare::core::launch(options);
  if (!outcome) {
    std::fprintf(stderr, "launch: %s\n", outcome.error().message.c_str());
    return tare::exit_status(outcome.error().kind);
  }
  for (const auto& warning : outcome->warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (outcome->failure) std::fprintf(stderr, "failure: %s\n", outcome->failure->message.c_str());
  for (const auto& image : outcome->images) {
    std::fprintf(stderr, "image %s pid %u events %lu bytes %lu per event %.3f%s dropped %lu\n", image.path.c_str(),
                 image.info.pid, image.events, image.file_bytes,
                 static_cast<double>(image.file_bytes) / static_cast<double>(image.events == 0 ? 1 : image.events),
                 image.summary_cached ? " summarized" : "", image.info.dropped_events);
  }
  rusage self{};
  getrusage(RUSAGE_SELF, &self);
  std::fprintf(stderr, "wakeups %lu chunks %lu late %lu recomputed %lu launcher cpu %.3f s\n", outcome->wakeups,
               outcome->drained_chunks, outcome->late_events, outcome->recomputed_summaries,
               static_cast<double>(self.ru_utime.tv_sec + self.ru_stime.tv_sec) +
                   static_cast<double>(self.ru_utime.tv_usec + self.ru_stime.tv_usec) * 1e-6);
  if (outcome->failure) return tare::exit_status(outcome->failure->kind);
  return WIFEXITED(outcome->wait_status) ? WEXITSTATUS(outcome->wait_status) : 128 + WTERMSIG(outcome->wait_status);
}
