// The launcher of the recorder's tests.
#include "test_launcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace tare::test {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A spool being drained.
struct Drained {
  int fd = -1;
  trace::SpoolHeader* header = nullptr;
  SpoolImage image;

  char* map(std::uint64_t offset, std::uint64_t bytes) const {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    return static_cast<char*>(at);
  }
};

void give_back(trace::SpoolHeader& header, trace::ChunkControl& control, std::uint32_t index) {
  control.state.store(trace::ChunkState::Free, std::memory_order_release);
  std::uint64_t seen = header.free_chunks.load();
  do {
    control.next_free = static_cast<std::uint32_t>(seen);
  } while (!header.free_chunks.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | (index + 1)));
}

void drain(Drained& spool) {
  const std::uint32_t count = spool.header->chunk_count.load();
  if (count == 0) return;
  char* controls = spool.map(trace::kControls, (count * sizeof(trace::ChunkControl) + 4095) & ~4095ull);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto& control = reinterpret_cast<trace::ChunkControl*>(controls)[i];
    if (control.state.load(std::memory_order_acquire) != trace::ChunkState::Full) continue;
    ChunkCopy chunk;
    chunk.thread = control.thread;
    chunk.serial = control.thread_chunk;
    chunk.first_event = control.first_event;
    chunk.open_stamp = control.open_stamp;
    chunk.words.resize(control.committed.load() / 8);
    if (pread(spool.fd, chunk.words.data(), chunk.words.size() * 8, static_cast<off_t>(trace::chunk_offset(i))) < 0) {
      throw std::runtime_error("pread");
    }
    spool.image.chunks.push_back(std::move(chunk));
    give_back(*spool.header, control, i);
    spool.header->full_chunks.fetch_sub(1);
  }
  munmap(controls, (count * sizeof(trace::ChunkControl) + 4095) & ~4095ull);
}

class Control {
 public:
  Control(const std::string& directory, bool locked) {
    fd_ = open((directory + "/" + trace::kControlName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0 || ftruncate(fd_, 4096) != 0) throw std::runtime_error("control file");
    void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    control_ = static_cast<trace::LauncherControl*>(at);
    std::memcpy(control_->magic, "TARECTL\n", 8);
    control_->version = 1;
    control_->launcher_pid = static_cast<std::uint32_t>(getpid());
    control_->wake_chunks.store(8);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    if (locked && fcntl(fd_, F_SETLK, &lock) != 0) throw std::runtime_error("lock");
  }
  void unlock() {
    struct flock lock = {};
    lock.l_type = F_UNLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(fd_, F_SETLK, &lock) != 0) throw std::runtime_error("unlock");
  }
  void give(const Budget& budget) {
    control_->cpu_share = budget.cpu_share;
    control_->memory_bytes = budget.memory_bytes;
    control_->doublings = budget.doublings;
    control_->disk_is_full = budget.disk_is_full ? 1 : 0;
    control_->has_budget = budget.is_given() ? 1 : 0;
  }
  ~Control() {
    munmap(control_, 4096);
    close(fd_);
  }

 private:
  int fd_;
  trace::LauncherControl* control_;
};

// The command and its variables for preloading. For another machine, an emulator performs it: LD_PRELOAD is for the
// program then, and the emulator itself is one of this machine.
std::vector<std::string> with_preload(const std::vector<std::string>& command, const std::string& preload,
                                      std::vector<std::string>& environment) {
  if (emulator().empty()) {
    if (!preload.empty()) environment.push_back("LD_PRELOAD=" + preload);
    return command;
  }
  std::vector<std::string> whole = emulator();
  if (!preload.empty()) {
    whole.emplace_back("-E");
    whole.push_back("LD_PRELOAD=" + preload);
  }
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

std::string slurp(int fd) {
  std::string all;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) > 0;) all.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  return all;
}

// Containers have 64 MiB of /dev/shm: too little for the spools that nobody drains.
std::string roomy_folder() {
  std::error_code ignored;
  constexpr std::uintmax_t kEnough = std::uintmax_t{512} << 20;
  return fs::space("/dev/shm", ignored).available >= kEnough ? "/dev/shm" : fs::temp_directory_path().string();
}

int temporary_file() {
  const int fd = memfd_create("output", MFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error("memfd");
  return fd;
}

}  // namespace

bool RunResult::exited(int code) const { return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == code; }

std::uint64_t RunResult::number(const std::string& key) const {
  const std::string padded = "\n" + output;
  const std::size_t at = padded.find("\n" + key + " ");
  if (at == std::string::npos) throw std::runtime_error("the program didn't print " + key + " but: " + output + errors);
  return std::stoull(padded.substr(at + key.size() + 2), nullptr, 0);
}

const SpoolImage& RunResult::only_image() const {
  if (images.size() != 1) throw std::runtime_error(std::to_string(images.size()) + " spools instead of one; " + errors);
  return images.front();
}

std::vector<std::string> emulator() {
  std::vector<std::string> words;
  std::istringstream text(TARE_EMULATOR);
  for (std::string word; std::getline(text, word, ' ');) words.push_back(word);
  return words;
}

std::string program(const std::string& name) { return std::string(TARE_TEST_PROGRAMS) + "/" + name; }
std::string recorder_library() { return TARE_RECORD_LIBRARY; }

RunResult run(const std::vector<std::string>& command, const RunOptions& options) {
  std::string directory = options.directory;
  if (directory.empty()) {
    directory = roomy_folder() + "/tare-test-XXXXXX";
    if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  std::vector<std::string> environment;
  std::string preload = recorder_library();
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  for (const std::string& entry : options.environment) {
    if (entry.starts_with("LD_PRELOAD=")) {
      preload += ":" + entry.substr(11);
    } else {
      const std::string name = entry.substr(0, entry.find('=') + 1);
      std::erase_if(environment, [&](const std::string& other) { return other.starts_with(name); });
      environment.push_back(entry);
    }
  }
  const std::vector<std::string> whole = with_preload(command, options.recorded ? preload : "", environment);
  std::optional<Control> control;
  if (options.launcher != Launcher::None) {
    control.emplace(directory, options.launcher != Launcher::Dead);
    control->give(options.budget);
    environment.push_back("TARE_SPOOL_DIR=" + directory);
  }

  RunResult result;
  const int output = temporary_file();
  const int errors = temporary_file();
  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(output, 1);
    dup2(errors, 2);
    if (options.launcher == Launcher::None && chdir(directory.c_str()) != 0) _exit(126);
    std::vector<char*> arguments, variables;
    for (const std::string& word : whole) arguments.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& word : environment) variables.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    execvpe(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  std::map<std::string, Drained> spools;
  const auto look = [&] {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
      const std::string path = entry.path();
      if (!path.ends_with(trace::kSpoolSuffix)) continue;
      Drained& spool = spools[path];
      if (spool.fd < 0) {
        spool.fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
        spool.header = reinterpret_cast<trace::SpoolHeader*>(spool.map(0, 4096));
        spool.image.path = path;
        spool.header->most_chunks.store(options.most_chunks);
      }
      if (options.launcher == Launcher::Draining) drain(spool);
    }
  };
  const auto has_spool = [&] {
    return std::ranges::any_of(fs::directory_iterator(directory), [](const fs::directory_entry& entry) {
      return entry.path().native().ends_with(trace::kSpoolSuffix);
    });
  };
  std::optional<Clock::time_point> recorded_since;
  bool killed = false;
  while (waitpid(pid, &result.wait_status, WNOHANG) == 0) {
    if (options.launcher == Launcher::Draining || options.launcher == Launcher::Dying) look();
    if (options.launcher == Launcher::Dying && !spools.empty()) control->unlock();
    if (!killed && options.kill_after_s > 0) {
      if (!recorded_since && has_spool()) recorded_since = Clock::now();
      if (recorded_since && seconds_since(*recorded_since) > options.kill_after_s) {
        kill(pid, SIGKILL);
        killed = true;
      }
    }
    if (!killed && seconds_since(start) > options.give_up_after_s) {
      kill(pid, SIGKILL);
      killed = result.timed_out = true;
    }
    usleep(1000);
  }
  result.seconds = seconds_since(start);
  usleep(20'000);  // children that outlive it a little
  look();
  for (auto& [path, spool] : spools) {
    SpoolImage rest = read_spool(path);
    rest.chunks.insert(rest.chunks.end(), std::make_move_iterator(spool.image.chunks.begin()),
                       std::make_move_iterator(spool.image.chunks.end()));
    munmap(spool.header, 4096);
    close(spool.fd);
    result.images.push_back(std::move(rest));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().string().ends_with(trace::kNoticeSuffix)) result.notices.push_back(fs::read_symlink(entry.path()));
  }
  result.output = slurp(output);
  result.errors = slurp(errors);
  if (options.directory.empty()) fs::remove_all(directory);
  return result;
}

}  // namespace tare::test
