// How a bench program says what it measured: a JSON list of {"case", "subject", "metric", "value", "unit"} on standard
// output, which bench/blocks.py collects from several runs.
#pragma once

#include <time.h>

#include <cstdio>
#include <string>

namespace tare::bench {

class Report {
 public:
  ~Report() { std::printf("\n]\n"); }

  void add(const std::string& case_name, const std::string& subject, const char* metric, double value,
           const char* unit) {
    std::printf(R"(%s{"case": "%s", "subject": "%s", "metric": "%s", "value": %.6g, "unit": "%s"})",
                is_first_ ? "[\n" : ",\n", case_name.c_str(), subject.c_str(), metric, value, unit);
    is_first_ = false;
  }

 private:
  bool is_first_ = true;
};

// CPU time of this thread: what others do on the machine's cores counts less than in wall time.
inline double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Makes the compiler believe that `value` is read. Larger ones where they lie: a copy reads what two stores wrote by
// one load, for which a processor waits 4 ns, as long as some of what is measured takes.
template <typename Value>
void keep(const Value& value) {
  if constexpr (sizeof(Value) > sizeof(void*)) {
    asm volatile("" : : "r"(&value) : "memory");
  } else {
    asm volatile("" : : "r,m"(value) : "memory");
  }
}

}  // namespace tare::bench
