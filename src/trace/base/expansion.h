// How much memory a file may make: so much for nothing, and so much for each of its bytes.
//
// A packed record of 100 bytes holds a million equal entries. Each record alone is within the format's limits, a
// hundred of them were gigabytes. Writers keep to the limit (they leave entries unpacked where they must), so that only
// a file that was made to exhaust its reader exceeds it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace tare::trace {

// Set by users who trust the origin of their files: lifts all limits.
inline constexpr char kEnvTrustFiles[] = "TARE_TRUST_FILES";
inline bool files_are_trusted() {
  const char* const value = std::getenv(kEnvTrustFiles);
  return value != nullptr && std::string(value) == "1";
}

inline std::string how_to_trust() {
  return std::string("; if you made the file yourself, ") + kEnvTrustFiles + "=1 lifts the limit";
}

// Never: where packed entries would make the file expand to more than readers take.
enum class Packing : std::uint8_t { Smallest, Never };

// Of a record that would make more memory than a file of its size may.
inline constexpr char kExpandsTooFar[] = "the file expands to more memory than its size allows";

// A sum that can't wrap.
constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

// Memory of an unpacked entry with its share of reports: about this number of bytes, beside the bytes in the record.
// Entries that were left unpacked always fit: two bytes are the least of a stack, five of a shape.
inline constexpr std::uint64_t kModuleMemory = 256, kRowMemory = 64, kStackMemory = 64, kShapeMemory = 256,
                               kNameMemory = 64, kObservationMemory = 192, kLiveMemory = 64, kGivenFrameMemory = 128;

constexpr std::uint64_t most_unpacked_bytes(std::uint64_t file_bytes) {
  return capped_sum(std::uint64_t{64} << 20, std::min(file_bytes, std::uint64_t{1} << 48) * 256);
}

// The limit for the growth of this process's resident memory in a walk over a file's events.
constexpr std::uint64_t most_resident_growth(std::uint64_t file_bytes) {
  return capped_sum(std::uint64_t{512} << 20, std::min(file_bytes, std::uint64_t{1} << 48) * 64);
}

// The limit for the memory of a file's unpacked entries.
class ExpansionBudget {
 public:
  explicit ExpansionBudget(std::uint64_t most_bytes, std::uint64_t taken_bytes = 0)
      : most_(most_bytes), taken_(taken_bytes) {}
  // A reader's.
  static ExpansionBudget of_file(std::uint64_t file_bytes) {
    return ExpansionBudget(files_are_trusted() ? std::numeric_limits<std::uint64_t>::max()
                                               : most_unpacked_bytes(file_bytes));
  }

  // False: it's too much, and nothing is taken.
  bool take(std::uint64_t entries, std::uint64_t bytes_each, std::uint64_t unpacked_bytes) {
    if (bytes_each != 0 && entries > (most_ - std::min(most_, taken_)) / bytes_each) return false;
    const std::uint64_t wanted = capped_sum(entries * bytes_each, unpacked_bytes);
    if (capped_sum(taken_, wanted) > most_) return false;
    taken_ += wanted;
    return true;
  }
  std::uint64_t taken() const { return taken_; }

 private:
  std::uint64_t most_;
  std::uint64_t taken_;
};

}  // namespace tare::trace
