// tare/heap_test.h: limits of the heap in a test case of GoogleTest, Catch2 or doctest.
//
//   #include <gtest/gtest.h>       // or catch2/catch.hpp, catch2/catch_all.hpp, doctest/doctest.h: before this header
//   #include <tare/heap_test.h>
//
//   TEST(Parser, StaysSmall) {
//     const std::string text = read("large.json");
//     tare::expect_heap({.allocations = 100, .peak_bytes = 1 << 20, .tare_percent = 20}, [&] { parse(text); });
//   }
//
// The function runs, like any other. Then a second process of the same program runs this test case alone under `tare
// run`, and only the same call of expect_heap() is recorded in it. If a limit is exceeded, the test case fails at the
// line of the call, with the lines of code that `tare check` names. The recording is kept, and the message has its
// path.
//
// Cost: the run of the test case up to the end of the function, under the recorder, and half a second for the commands.
// The first process has no recorder in it. The second exits when the function returns, with no output.
//
// Without the command `tare` nothing is checked, and one line on stderr states it. Environment variables: TARE is the
// command, if it isn't in PATH; TARE_HEAP_TEST=require fails test cases that can't be checked.
//
// All threads count while the function runs. A test case may have several calls; calls inside of a recorded function
// only run theirs. The test case must reach the same calls each time: a case that GoogleTest repeats (--gtest_repeat)
// or that depends on an earlier one can't be run alone. The program's main() must accept the framework's options.
//
// Header only, nothing to link. Linux and C++20; elsewhere, or if TARE_HEAP_TEST_OFF is defined, only the function
// runs. Not thread-safe: call it from the test case's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tare/version.h"

#if defined(__linux__) && !defined(TARE_HEAP_TEST_OFF)
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <vector>
#endif

namespace tare::inline TARE_ABI {

// A limit that isn't set isn't checked. Blocks are those that the function allocated.
struct HeapLimits {
  std::optional<std::uint64_t> allocations{};  // blocks in all; a realloc counts as one
  std::optional<std::uint64_t> peak_bytes{};   // at the peak: usable bytes and headers
  std::optional<std::uint64_t> end_bytes{};    // still allocated when the function returns
  std::optional<double> tare_percent{};        // of the bytes at the peak, those that are waste by Tare's lenses
};

#if defined(__linux__) && !defined(TARE_HEAP_TEST_OFF)
namespace heap_test_details {

// ---- The framework: the option that chooses the running test case, and how it fails.

#if defined(GTEST_TEST) || defined(GTEST_TEST_)
inline std::vector<std::string> options_of_test_case() {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return {};
  return {std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name(),
          "--gtest_also_run_disabled_tests"};
}
inline void fail(const char* file, int line, const std::string& message) { ADD_FAILURE_AT(file, line) << message; }
#elif defined(DOCTEST_VERSION)
inline std::vector<std::string> options_of_test_case() {
  std::string name;
  const doctest::detail::TestCase* const test = doctest::getContextOptions()->currentTest;
  for (const char letter : std::string_view(test != nullptr ? test->m_name : "")) {
    if (letter == ',' || letter == '\\') name += '\\';
    name += letter;
  }
  if (name.empty()) return {};
  return {"--test-case=" + name, "--no-skip"};
}
inline void fail(const char* file, int line, const std::string& message) { ADD_FAIL_CHECK_AT(file, line, message); }
#elif defined(CATCH_VERSION_MAJOR)
inline std::vector<std::string> options_of_test_case() {
  std::string name;
  for (const char letter : Catch::getResultCapture().getCurrentTestName()) {
    if (std::string_view(",[\"\\*").find(letter) != std::string_view::npos) name += '\\';
    name += letter;
  }
  if (name.empty()) return {};
  return {std::move(name)};
}
inline void fail(const char* file, int line, const std::string& message) {
  Catch::AssertionHandler handler(Catch::StringRef("tare::expect_heap"),
                                  Catch::SourceLineInfo(file, static_cast<std::size_t>(line)), Catch::StringRef(),
                                  Catch::ResultDisposition::ContinueOnFailure);
  handler.handleMessage(Catch::ResultWas::ExplicitFailure, message.c_str());
  handler.complete();
}
#else
#error "Include the header of GoogleTest, Catch2 or doctest before tare/heap_test.h."
#endif

// ---- Processes.

// A command with all that starting it takes, so that run() allocates nothing. Its output goes to `log`. `more` are
// variables of its environment; it doesn't get those whose names begin like one of `without`.
class Command {
 public:
  Command(std::vector<std::string> words, const std::string& log, std::vector<std::string> more = {},
          const std::vector<std::string_view>& without = {})
      : words_(std::move(words)), variables_(std::move(more)) {
    for (char** each = environ; *each != nullptr; ++each) {
      bool is_left_out = false;
      for (const std::string_view start : without)
        is_left_out |= std::string_view(*each).substr(0, start.size()) == start;
      if (!is_left_out) variables_.emplace_back(*each);
    }
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    for (std::string& variable : variables_) environment_.push_back(variable.data());
    environment_.push_back(nullptr);
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions_, 1, 2);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() { posix_spawn_file_actions_destroy(&actions_); }

  // Its exit status; -1: it couldn't be started, or a signal ended it.
  int run() {
    pid_t child = 0;
    if (posix_spawnp(&child, arguments_[0], &actions_, nullptr, arguments_.data(), environment_.data()) != 0) return -1;
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
  posix_spawn_file_actions_t actions_;
};

inline std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::string tare_command() {
  const char* const given = std::getenv("TARE");
  return given != nullptr && *given != '\0' ? given : "tare";
}

// ---- The two processes.

// Names a call, in both processes the same.
inline std::string next_call(const char* file, int line) {
  static std::map<std::tuple<std::string, std::string, int>, int> calls;
  std::string test;
  for (const std::string& option : options_of_test_case()) test += option;
  const int number = ++calls[{std::move(test), file, line}];
  return std::string(file) + ":" + std::to_string(line) + "#" + std::to_string(number);
}

inline constexpr const char* kCall = "TARE_HEAP_TEST_CALL";      // that is recorded
inline constexpr const char* kFolder = "TARE_HEAP_TEST_FOLDER";  // for files of the recorded process

// In the recorded process: the recorder is awake while the function runs, and sees nothing of this. The process ends
// when the function returns, so that the end of the recording is that of the function.
inline void record(const std::function<void()>& function) {
  const std::string folder = std::getenv(kFolder);
  const std::string mark = folder + "/recorded";
  const std::vector<std::string_view> without{"LD_PRELOAD=", "TARE_"};
  Command resume({tare_command(), "resume", std::to_string(getpid())}, folder + "/resume.txt", {}, without);
  if (resume.run() != 0) return;
  function();
  close(open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  _exit(0);
}

inline std::string budget_of(const HeapLimits& limits) {
  std::ostringstream text;
  text << "[budget]\n";
  if (limits.allocations) text << "\"total.blocks\" = " << *limits.allocations << '\n';
  if (limits.peak_bytes) text << "\"peak.gross_bytes\" = " << *limits.peak_bytes << '\n';
  if (limits.end_bytes) text << "\"end.gross_bytes\" = " << *limits.end_bytes << '\n';
  if (limits.tare_percent) text << "\"peak.tare_percent\" = " << *limits.tare_percent << '\n';
  return text.str();
}

// Why a call can't be checked: fails or prints it.
inline void not_checked(const char* file, int line, const std::string& reason, bool is_absent) {
  const char* const wish = std::getenv("TARE_HEAP_TEST");
  if (!is_absent || (wish != nullptr && std::string_view(wish) == "require")) {
    fail(file, line, reason);
  } else {
    std::fprintf(stderr, "%s:%d: the heap isn't checked: %s\n", file, line, reason.c_str());
  }
}

inline void check(const char* file, int line, const std::string& call, const HeapLimits& limits) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "tare-heap-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return not_checked(file, line, "no temporary folder: " + pattern, false);
  const std::string& folder = pattern;
  struct Remove {
    const std::string& folder;
    bool is_kept = false;
    ~Remove() {
      std::error_code ignored;
      if (!is_kept) fs::remove_all(folder, ignored);
    }
  } remove{folder};

  if (Command({tare_command(), "--version"}, folder + "/version.txt").run() != 0) {
    const std::string reason = "the command " + tare_command() + " can't be run; set TARE, or install heaptare";
    return not_checked(file, line, reason, true);
  }
  const std::vector<std::string> options = options_of_test_case();
  if (options.empty()) return not_checked(file, line, "expect_heap() isn't in a test case", false);
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self/exe", error).string();
  const std::string trace = folder + "/heap.tare";
  const std::string output = folder + "/output.txt";
  std::vector<std::string> words{tare_command(), "run", "-q", "--start-paused", "-o", trace, "--", self};
  words.insert(words.end(), options.begin(), options.end());
  const std::vector<std::string_view> without{"GTEST_", "DOCTEST_", kCall, kFolder, "TARE_HEAP_TEST="};
  const std::vector<std::string> own{std::string(kCall) + "=" + call, std::string(kFolder) + "=" + folder};
  const int status = Command(std::move(words), output, own, without).run();
  if (!fs::exists(folder + "/recorded", error)) {
    const std::string reason =
        "the test case, run alone under the recorder, didn't run this call to its end. Its output:\n";
    return not_checked(file, line, reason + text_of(output), false);
  }
  if (status == 0 && !fs::exists(trace, error)) return;  // a recording without a single event isn't written
  std::ofstream(folder + "/limits.toml") << budget_of(limits);
  const std::vector<std::string> check{tare_command(), "check", trace, "--budget", folder + "/limits.toml"};
  if (Command(check, output, {"NO_COLOR=1"}).run() == 0) return;
  remove.is_kept = true;
  fail(file, line, "the heap exceeds a limit; see: " + tare_command() + " report " + trace + "\n" + text_of(output));
}

}  // namespace heap_test_details
#endif

// Runs the function. The test case fails if the function exceeds a limit; it goes on. `file` and `line` are shown with
// the failure. An exception of the function reaches the caller, and nothing is checked.
inline void expect_heap(const HeapLimits& limits, const std::function<void()>& function,
                        [[maybe_unused]] const char* file = __builtin_FILE(),
                        [[maybe_unused]] int line = __builtin_LINE()) {
#if defined(__linux__) && !defined(TARE_HEAP_TEST_OFF)
  namespace details = heap_test_details;
  const std::string call = details::next_call(file, line);
  if (const char* const recorded = std::getenv(details::kCall)) {
    if (recorded == call) return details::record(function);
    return function();
  }
  function();
  details::check(file, line, call, limits);
#else
  (void)limits;
  function();
#endif
}

}  // namespace tare::inline TARE_ABI
