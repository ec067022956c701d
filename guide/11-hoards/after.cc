// The same viewer: a page is unpacked when somebody looks at it, and the last sixteen are kept. Under memory pressure
// these go, too.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "tare/memory_pressure.h"

namespace {

constexpr std::size_t kWidth = 160, kHeight = 200;

struct Random {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  }
};

// As it lies in the file: runs of equal dots.
struct PackedPage {
  struct Run {
    std::uint16_t dots;
    std::uint8_t grey;
  };
  std::vector<Run> runs;
};

using Picture = std::vector<std::uint8_t>;

Picture unpack(const PackedPage& page) {
  Picture dots(kWidth * kHeight);
  std::size_t at = 0;
  for (const PackedPage::Run& run : page.runs) {
    for (std::uint16_t i = 0; i < run.dots; ++i) dots[at++] = run.grey;
  }
  return dots;
}

class Book {
 public:
  explicit Book(std::vector<PackedPage> pages) : pages_(std::move(pages)) {
    pressure_ = tare::PressureRegistry::process().add("pictures", [this](tare::PressureLevel) { return forget_all(); });
  }
  std::size_t pages() const { return pages_.size(); }
  const Picture& picture(std::size_t page) {
    Shown* oldest = &shown_.front();
    for (Shown& shown : shown_) {
      if (shown.page == page && !shown.picture.empty()) {
        shown.last_turn = ++turns_;
        return shown.picture;
      }
      if (shown.last_turn < oldest->last_turn) oldest = &shown;
    }
    *oldest = {page, ++turns_, unpack(pages_[page])};
    return oldest->picture;
  }

 private:
  struct Shown {
    std::size_t page = 0;
    std::uint64_t last_turn = 0;
    Picture picture;
  };

  std::size_t forget_all() {  // the viewer has one thread, which also asks for this
    std::size_t bytes = 0;
    for (Shown& shown : shown_) {
      bytes += shown.picture.capacity();
      shown = {};
    }
    return bytes;
  }

  std::vector<PackedPage> pages_;
  std::array<Shown, 16> shown_;
  std::uint64_t turns_ = 0;
  tare::PressureHandle pressure_;
};

// The contents of the screen: here only a sum over its dots, lines from the middle outwards.
std::uint64_t show(const Picture& picture) {
  std::uint64_t sum = 0;
  for (std::size_t line = 0; line < kHeight; ++line) {
    const std::size_t from = (line % 2 == 0 ? kHeight / 2 + line / 2 : kHeight / 2 - 1 - line / 2) * kWidth;
    for (std::size_t x = 0; x < kWidth; ++x) sum = sum * 31 + picture[from + x];
  }
  return sum;
}

std::vector<PackedPage> scan(std::size_t pages) {
  Random random{5};
  std::vector<PackedPage> book(pages);
  for (PackedPage& page : book) {
    for (std::size_t left = kWidth * kHeight; left > 0;) {
      const std::size_t dots = left < 200 ? left : 100 + random.below(100);
      page.runs.push_back({static_cast<std::uint16_t>(dots), static_cast<std::uint8_t>(random.below(256))});
      left -= dots;
    }
  }
  return book;
}

}  // namespace

int main() {
  Book& book = *new Book(scan(600));  // open as long as the viewer
  Random random{9};
  std::uint64_t sum = 0;
  std::size_t page = 0;
  for (int turn = 0; turn < 24'000; ++turn) {
    page = (page + 11 + random.below(3)) % 12;  // to and fro
    const std::size_t chapter = static_cast<std::size_t>(turn) / 3000 * 60;
    sum = sum * 31 + show(book.picture(chapter + page));
  }
  std::printf("%zu pages, sum %llx\n", book.pages(), static_cast<unsigned long long>(sum));
}
