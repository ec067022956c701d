// A log store in memory: records are appended to segments, found again by number, and dropped when they are old.
// Segments hold 32 KiB of records, a fine round number, with a header of 40 bytes before it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string_view>

namespace {

struct Segment {
  std::uint64_t first_record;
  std::uint64_t records;
  std::size_t used_bytes;
  std::size_t capacity_bytes;
  std::uint64_t checksum;

  char* data() { return reinterpret_cast<char*>(this + 1); }
  std::size_t free_bytes() const { return capacity_bytes - used_bytes; }
};

constexpr std::size_t kPayloadBytes = 32 * 1024;

std::uint64_t checksum_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

Segment* new_segment(std::uint64_t first_record) {
  auto* segment = static_cast<Segment*>(std::malloc(sizeof(Segment) + kPayloadBytes));
  if (segment == nullptr) std::abort();
  *segment = {first_record, 0, 0, kPayloadBytes, 0};
  return segment;
}

class LogStore {
 public:
  LogStore() = default;
  LogStore(const LogStore&) = delete;
  LogStore& operator=(const LogStore&) = delete;
  ~LogStore() {
    for (Segment* segment : segments_) std::free(segment);
  }

  // A record is its length in two bytes and its characters.
  void append(std::string_view text) {
    const auto length = static_cast<std::uint16_t>(text.size());
    if (segments_.empty() || segments_.back()->free_bytes() < sizeof length + length)
      segments_.push_back(new_segment(next_record_));
    Segment& last = *segments_.back();
    char* at = last.data() + last.used_bytes;
    std::memcpy(at, &length, sizeof length);
    std::memcpy(at + sizeof length, text.data(), length);
    last.checksum += checksum_of(text);
    last.used_bytes += sizeof length + length;
    ++last.records;
    ++next_record_;
  }

  // Drops whole segments that hold nothing from `oldest` on.
  void expire(std::uint64_t oldest) {
    while (!segments_.empty() && segments_.front()->first_record + segments_.front()->records <= oldest) {
      std::free(segments_.front());
      segments_.pop_front();
    }
  }

  std::string_view find(std::uint64_t record) const {
    for (Segment* segment : segments_) {
      if (record < segment->first_record || record >= segment->first_record + segment->records) continue;
      const char* at = segment->data();
      for (std::uint64_t i = segment->first_record;; ++i) {
        std::uint16_t length;
        std::memcpy(&length, at, sizeof length);
        if (i == record) return {at + sizeof length, length};
        at += sizeof length + length;
      }
    }
    return {};
  }

 private:
  std::deque<Segment*> segments_;
  std::uint64_t next_record_ = 0;
};

}  // namespace

int main() {
  constexpr std::uint64_t kRecords = 600'000;
  constexpr std::uint64_t kKept = 500'000;
  LogStore store;
  std::uint64_t state = 1;
  char line[160];
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int length = std::snprintf(line, sizeof line, "%llu worker-%u %s took %u us of %u, queue %u",
                                     static_cast<unsigned long long>(1'700'000'000'000 + 13 * i),
                                     static_cast<unsigned>(state >> 60), i % 7 == 0 ? "POST /orders" : "GET /orders",
                                     static_cast<unsigned>(state >> 48), 65536U, static_cast<unsigned>(i % 31));
    store.append({line, static_cast<std::size_t>(length)});
    if (i >= kKept) store.expire(i - kKept);
  }
  std::uint64_t checksum = 0;
  for (std::uint64_t i = kRecords - 1000; i < kRecords; ++i) checksum += checksum_of(store.find(i));
  const std::string_view found = store.find(kRecords - kKept / 2);
  std::printf("%.*s\nlast thousand: %llx\n", static_cast<int>(found.size()), found.data(),
              static_cast<unsigned long long>(checksum));
}
