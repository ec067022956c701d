// Runs a program under libtare-record.so and collects its spools: as a draining launcher, a stopped or dead one, or
// none.
#pragma once

#include <string>
#include <vector>

#include "spool_dump.h"

namespace tare::test {

enum class Launcher {
  None,      // no TARE_SPOOL_DIR: standalone spools in the run's folder
  Draining,  // takes full chunks and gives them back
  Stopped,   // locks its control file but never drains
  Dying,     // as Stopped, and dead once there's a spool
  Dead,      // its control file lies there unlocked
};

struct Budget {  // as the launcher's control file has it from the start
  double cpu_share = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t doublings = 0;
  bool disk_is_full = false;

  bool is_given() const { return cpu_share > 0 || memory_bytes != 0 || doublings != 0 || disk_is_full; }
};

struct RunOptions {
  Launcher launcher = Launcher::Draining;
  std::vector<std::string> environment;  // NAME=VALUE, added
  std::string directory;                 // where spools go; empty: a fresh one in /dev/shm
  std::uint32_t most_chunks = 0;         // that the launcher sets in each spool; 0: it decides nothing
  Budget budget;
  double kill_after_s = 0;  // SIGKILL that long after there is a spool; 0: never
  // The program hangs: SIGKILL and a failure. Signals.AfterEachInstruction took 140 s beside ten busy processes.
  double give_up_after_s = 600;
  bool recorded = true;
};

struct RunResult {
  int wait_status = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string output;                // stdout
  std::string errors;                // stderr
  std::vector<SpoolImage> images;    // by path
  std::vector<std::string> notices;  // "PROGRAM\nREASON" of those that weren't recorded

  bool exited(int code) const;
  // The number after `key` in the output.
  std::uint64_t number(const std::string& key) const;
  const SpoolImage& only_image() const;
};

RunResult run(const std::vector<std::string>& command, const RunOptions& options = {});
// The words of the command that runs programs of another machine; empty: they are this machine's.
std::vector<std::string> emulator();
// A test program of this folder.
std::string program(const std::string& name);
std::string recorder_library();

}  // namespace tare::test
