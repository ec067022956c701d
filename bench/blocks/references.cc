// Counted pointers beside their peers: what one costs to copy and to make, and what an object with three holders takes.
//
//   reference-make           ns to make an object with its first reference, and to drop it
//   reference-copy           ns to copy a reference and to drop the copy, of a thousand objects in turn
//   reference-copy-threaded  the same while the process has a second thread, for those that threads may share
//   reference-object         bytes of an object of three numbers, all-in: with the allocator's headers, its count, and
//                            three references to it
//
// Subjects: tare (RefPtr, ThreadSafeRefCounted), tare-one-thread (RefCounted), tare-compressed (4 bytes, the object in
// a cage's pages), boost-intrusive-ptr (its thread-safe counter), std-shared-ptr (make_shared), native (new and delete
// of an object that nobody counts).
#include <malloc.h>

#include <algorithm>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "report.h"
#include "tare/cage.h"
#include "tare/ref_counted.h"
#include "tare/ref_ptr.h"

namespace tare::bench {

struct ReferenceCage {
  static constexpr std::size_t kGranuleBytes = 8;
};

namespace {

struct Payload {
  std::uint64_t numbers[3] = {1, 2, 3};
};

struct Shared : Payload, ThreadSafeRefCounted<Shared> {};
struct OneThread : Payload, RefCounted<OneThread> {};
struct Boosted : Payload, boost::intrusive_ref_counter<Boosted, boost::thread_safe_counter> {};

// Objects of one size in a cage, freed ones first.
class Slots {
 public:
  explicit Slots(Cage& cage) : cage_(cage) {}
  void* allocate(std::size_t bytes) {
    if (free_ != nullptr) return std::exchange(free_, *static_cast<void**>(free_));
    if (left_ < bytes) {
      const CageResult<PageRun> run = cage_.allocate(std::size_t{64} << 10);
      if (!run) std::abort();
      next_ = run.value().data;
      left_ = run.value().size_bytes;
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  void free(void* slot) { *static_cast<void**>(slot) = std::exchange(free_, slot); }

 private:
  Cage& cage_;
  void* free_ = nullptr;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};
Slots* slots = nullptr;

struct Caged : Payload, ThreadSafeRefCounted<Caged> {
  static void destroy(Caged* object) {
    object->~Caged();
    slots->free(object);
  }
};

struct Tare {
  static constexpr const char* kName = "tare";
  using Reference = RefPtr<Shared>;
  static Reference make() { return make_ref<Shared>(); }
};
struct TareOneThread {
  static constexpr const char* kName = "tare-one-thread";
  using Reference = RefPtr<OneThread>;
  static Reference make() { return make_ref<OneThread>(); }
};
struct TareCompressed {
  static constexpr const char* kName = "tare-compressed";
  using Reference = CompressedRefPtr<Caged, ReferenceCage>;
  static Reference make() { return adopt_ref(new (slots->allocate(sizeof(Caged))) Caged); }
};
struct Boost {
  static constexpr const char* kName = "boost-intrusive-ptr";
  using Reference = boost::intrusive_ptr<Boosted>;
  static Reference make() { return {new Boosted}; }
};
struct Std {
  static constexpr const char* kName = "std-shared-ptr";
  using Reference = std::shared_ptr<Payload>;
  static Reference make() { return std::make_shared<Payload>(); }
};
struct Native {
  static constexpr const char* kName = "native";
  using Reference = std::unique_ptr<Payload>;
  static Reference make() { return std::make_unique<Payload>(); }
};

constexpr int kRepeats = 9;
constexpr std::size_t kObjects = 1000;
constexpr std::size_t kRounds = 500;

template <class Body>
double least_ns(Body body) {
  double least = 1e300;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double begin = cpu_ns();
    for (std::size_t round = 0; round < kRounds; ++round) body();
    least = std::min(least, (cpu_ns() - begin) / static_cast<double>(kRounds * kObjects));
  }
  return least;
}

template <class Subject>
void measure_copies(Report& report, const char* case_name) {
  std::vector<typename Subject::Reference> held;
  for (std::size_t i = 0; i < kObjects; ++i) held.push_back(Subject::make());
  const double ns = least_ns([&] {
    for (const auto& reference : held) {
      const auto copy = reference;
      keep(copy);
    }
  });
  report.add(case_name, Subject::kName, "time", ns, "ns");
}

std::size_t malloced_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

template <class Subject>
void measure(Report& report) {
  const double ns = least_ns([] {
    for (std::size_t i = 0; i < kObjects; ++i) keep(Subject::make());
  });
  report.add("reference-make", Subject::kName, "time", ns, "ns");
  std::vector<typename Subject::Reference> held;
  held.reserve(kObjects);
  const std::size_t before = malloced_bytes();
  for (std::size_t i = 0; i < kObjects; ++i) held.push_back(Subject::make());
  std::size_t object = (malloced_bytes() - before + kObjects / 2) / kObjects;
  if (object == 0) object = sizeof(Caged);  // in a cage, where one follows the other
  report.add("reference-object", Subject::kName, "bytes",
             static_cast<double>(object + 3 * sizeof(typename Subject::Reference)), "bytes");
}

void run() {
  CageResult<Cage> cage = Cage::reserve(cage_options<ReferenceCage>());
  if (!cage || CageBase<ReferenceCage>::bind(cage.value()) != CageError::None) std::abort();
  Slots of_cage(cage.value());
  slots = &of_cage;
  Report report;
  const auto for_all = [](auto&& call) {
    call.template operator()<Tare>();
    call.template operator()<TareOneThread>();
    call.template operator()<TareCompressed>();
    call.template operator()<Boost>();
    call.template operator()<Std>();
  };
  for_all([&]<class Subject>() { measure<Subject>(report); });
  measure<Native>(report);
  for_all([&]<class Subject>() { measure_copies<Subject>(report, "reference-copy"); });
  std::mutex mutex;
  mutex.lock();
  std::thread second([&mutex] { const std::lock_guard<std::mutex> wait(mutex); });
  for_all([&]<class Subject>() { measure_copies<Subject>(report, "reference-copy-threaded"); });
  mutex.unlock();
  second.join();
}

}  // namespace
}  // namespace tare::bench

int main() {
  tare::bench::run();
  return 0;
}
