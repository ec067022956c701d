// A carrier's tracker: it knows each parcel that is on its way by number, and goes through all of them once an hour for
// those that are late. A parcel's fields lie in falling alignment, and what one parcel in ten has lies in a table of
// its own.
#include <cstdint>
#include <cstdio>
#include <random>
#include <unordered_map>
#include <vector>

#include "tare/layout.h"

namespace {

struct Parcel {
  std::uint64_t number = 0;
  Parcel* next = nullptr;  // of those with the same place in the table
  std::int64_t due_s = 0;
  std::int64_t seen_s = 0;  // when a scanner saw it last
  std::uint32_t weight_g = 0;
  std::uint16_t depot = 0;
  std::uint8_t zone = 0;
  bool has_papers = false;
};
TARE_ASSERT_PACKED(Parcel);
TARE_ASSERT_SIZE_CLASS(Parcel);

// Of what is insured, or comes from abroad.
struct Papers {
  double insured_euro = kLeastInsured;
  double customs_euro = 0;
  std::uint32_t customs_code = 0;

  static constexpr double kLeastInsured = 50;
};

class Tracker {
 public:
  explicit Tracker(std::size_t places) : table_(places) {}
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;
  ~Tracker() {
    for (Parcel* first : table_) {
      while (first != nullptr) {
        Parcel* next = first->next;
        delete first;
        first = next;
      }
    }
  }

  void accept(std::uint64_t number, std::int64_t now_s, std::mt19937_64& random) {
    auto* parcel = new Parcel;
    parcel->number = number;
    parcel->zone = static_cast<std::uint8_t>(random() % 40);
    parcel->depot = static_cast<std::uint16_t>(random() % 600);
    parcel->weight_g = static_cast<std::uint32_t>(random() % 30'000);
    const bool is_express = random() % 8 == 0;
    parcel->due_s = now_s + (is_express ? 1 : 3) * kDay;
    parcel->seen_s = now_s;
    if (random() % 20 == 0) papers_of(*parcel).insured_euro = static_cast<double>(random() % 5000);
    if (random() % 20 == 0) {
      Papers& papers = papers_of(*parcel);
      papers.customs_euro = static_cast<double>(random() % 900);
      papers.customs_code = static_cast<std::uint32_t>(random() % 9999);
    }
    Parcel*& place = table_[number % table_.size()];
    parcel->next = place;
    place = parcel;
  }

  // The carrier's payment for a lost parcel; 0 if it isn't lost.
  double deliver(std::uint64_t number) {
    for (Parcel** place = &table_[number % table_.size()]; *place != nullptr; place = &(*place)->next) {
      Parcel* parcel = *place;
      if (parcel->number != number) continue;
      const Papers papers = parcel->has_papers ? papers_.at(number) : Papers();
      if (parcel->has_papers) papers_.erase(number);
      *place = parcel->next;
      delete parcel;
      return papers.insured_euro + papers.customs_euro * (papers.customs_code % 25) / 100;
    }
    return 0;
  }

  // Late parcels are looked for, and seen.
  std::size_t chase_late(std::int64_t now_s) {
    std::size_t late = 0;
    for (Parcel* first : table_) {
      for (Parcel* parcel = first; parcel != nullptr; parcel = parcel->next) {
        if (parcel->due_s > now_s || parcel->seen_s + kDay > now_s) continue;
        parcel->seen_s = now_s;
        late += parcel->weight_g > 100 && parcel->zone != 0 && parcel->depot != 0 ? 1 : 0;
      }
    }
    return late;
  }

  static constexpr std::int64_t kHour = 3600;
  static constexpr std::int64_t kDay = 24 * kHour;

 private:
  Papers& papers_of(Parcel& parcel) {
    parcel.has_papers = true;
    return papers_[parcel.number];
  }

  std::vector<Parcel*> table_;
  std::unordered_map<std::uint64_t, Papers> papers_;
};

}  // namespace

int main() {
  constexpr std::uint64_t kAnHour = 4000;
  std::mt19937_64 random(1);
  Tracker tracker(1 << 18);
  std::uint64_t number = 0;
  std::size_t late = 0;
  double euro = 0;
  for (std::int64_t hour = 0; hour < 96; ++hour) {
    for (std::uint64_t i = 0; i < kAnHour; ++i) tracker.accept(++number, hour * Tracker::kHour, random);
    for (std::uint64_t i = 0; i < kAnHour / 4; ++i) euro += tracker.deliver(1 + random() % number);
    late += tracker.chase_late(hour * Tracker::kHour);
  }
  std::printf("%zu chased, %.0f euro delivered\n", late, euro);
  return 0;
}
