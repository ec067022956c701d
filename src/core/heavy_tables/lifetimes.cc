// A block's word in the ledger has all that its row needs: no record a block.
#include "core/heavy_tables/lifetimes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "core/analysis/dictionary_union.h"
#include "core/analysis/ledger.h"
#include "core/analysis/shape_sums.h"
#include "core/heavy_tables/stamps.h"
#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::index;

// Two hundred pixels of a timeline are five for each.
constexpr std::uint64_t kEqualParts = 200;
constexpr std::uint32_t kNone = 0x3fff;  // before the recording; never freed

struct Cell {
  std::uint32_t shape = 0;
  std::uint16_t thread = 0;
  std::uint16_t birth = 0;  // intervals
  std::uint16_t death = 0;
  std::uint64_t blocks = 0;

  bool is_of(const Cell& other) const {
    return shape == other.shape && thread == other.thread && birth == other.birth && death == other.death;
  }
};

}  // namespace

std::vector<std::uint64_t> interval_ends(std::uint64_t duration_ns, std::uint64_t peak_ns) {
  std::vector<std::uint64_t> ends{std::min(peak_ns, duration_ns)};
  for (std::uint64_t part = 1; part <= kEqualParts; ++part) {
    ends.push_back(duration_ns / kEqualParts * part + duration_ns % kEqualParts * part / kEqualParts);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

struct Lifetimes::State : BooksWithoutGrowth {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, std::vector<std::uint64_t> ends, const LiveSet* inherited_set,
        const std::optional<PeakPlace>& peak_place)
      : dictionary(own_dictionary),
        info(own_info),
        ends_ns(std::move(ends)),
        inherited(inherited_set),
        ledger(*this, own_info) {
    const trace::Clock clock(clock_pairs);
    for (const std::uint64_t end : ends_ns) last_stamps.push_back(last_stamp_at(clock, end));
    last_stamps.back() = std::numeric_limits<std::uint64_t>::max();  // a damaged stamp has a place, too
    if (peak_place) {
      const auto end = std::find(ends_ns.begin(), ends_ns.end(), peak_place->ns);
      if (ends_ns.end() - end > 1) peak = {static_cast<std::uint32_t>(end - ends_ns.begin()), peak_place->allocations};
    }
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    const auto own_shapes = static_cast<std::uint32_t>(dictionary.shapes.size());
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, word_of(own_shapes + index(block.shape), kNone, 0));
    }
  }

  // LedgerBooks:
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }

  std::uint64_t born(const Event& event) {
    ++births;
    const std::uint32_t interval = interval_of(event.stamp);
    return word_of(index(event.shape), interval + is_after_peak(interval, births), event.thread);
  }
  // The peak is before the first end that follows its last allocation.
  Dead died(std::uint64_t word, const Event& event) {
    const std::uint32_t interval = interval_of(event.stamp);
    count(word, interval + is_after_peak(interval, births + 1));
    return {};
  }

  // Shape; one of BlockMap's live bits, the interval in 14 bits, the thread.
  static constexpr std::uint32_t kLive = 1u << 31;
  static std::uint64_t word_of(std::uint32_t shape, std::uint32_t interval, std::uint16_t thread) {
    return std::uint64_t{shape} << 32 | kLive | interval << 16 | thread;
  }

  // Stamps of events that follow each other are nearly always in one interval.
  std::uint32_t interval_of(std::uint64_t stamp) {
    const bool is_here = stamp <= last_stamps[now] && (now == 0 || stamp > last_stamps[now - 1]);
    if (!is_here) [[unlikely]] {
      const auto found = std::lower_bound(last_stamps.begin(), last_stamps.end(), stamp);
      now = static_cast<std::size_t>(found - last_stamps.begin());
    }
    return static_cast<std::uint32_t>(now);
  }

  // Of the interval that ends at the peak: is the event with the allocation of that number? Numbers wrap around.
  std::uint32_t is_after_peak(std::uint32_t interval, std::uint32_t allocation) const {
    return interval == peak.interval && allocation - peak.allocations - 1 < 1u << 31 ? 1 : 0;
  }

  void count(std::uint64_t word, std::uint32_t death) {
    const Cell wanted{static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word),
                      static_cast<std::uint16_t>(word >> 16 & kNone), static_cast<std::uint16_t>(death)};
    const std::uint64_t hash = trace::mix_hash(word, death);
    const std::uint32_t at = places.find_or_make(
        hash, [&](std::uint32_t place) { return cells[place].is_of(wanted); },
        [&] {
          cells.push_back(wanted);
          return static_cast<std::uint32_t>(cells.size() - 1);
        });
    ++cells[at].blocks;
  }

  Table lives_table() {
    // Stacks first: the rows of a stack are read together.
    const auto own_shapes = static_cast<std::uint32_t>(dictionary.shapes.size());
    const auto facts = [&](std::uint32_t shape) -> const trace::Shape& {
      return shape < own_shapes ? dictionary.shapes[shape] : inherited->dictionary.shapes[shape - own_shapes];
    };
    const auto stack_of = [&](std::uint32_t shape) {
      const trace::StackId stack = facts(shape).stack;
      return index(shape < own_shapes ? stack : stack_of_inherited[index(stack)]);
    };
    std::sort(cells.begin(), cells.end(), [&](const Cell& a, const Cell& b) {
      const auto key = [&](const Cell& cell) {
        return std::tuple(stack_of(cell.shape), cell.shape, cell.thread, cell.birth, cell.death);
      };
      return key(a) < key(b);
    });
    TableBuilder table("lifetimes");
    const auto int_column = [&](const char* name) { return table.column(name); };
    const auto size_id = int_column("size_id");
    const auto stack_id = int_column("stack_id");
    const auto thread = int_column("thread");
    const auto birth = int_column("allocated_interval");
    const auto death = int_column("freed_interval");
    const auto requested = int_column("requested_bytes");
    const auto usable = int_column("usable_bytes");
    const auto header = int_column("header_bytes");
    const auto blocks = table.column("blocks");
    table.reserve(cells.size());
    const auto interval = [](std::uint16_t number) {
      return number == kNone ? std::nullopt : std::optional<std::int64_t>(number);
    };
    for (const Cell& cell : cells) {
      const trace::Shape& shape = facts(cell.shape);
      table.add(size_id, std::int64_t{cell.shape});
      table.add(stack_id, std::int64_t{stack_of(cell.shape)});
      table.add(thread, std::int64_t{cell.thread});
      table.add(birth, interval(cell.birth));
      table.add(death, interval(cell.death));
      table.add(requested, to_column(shape.requested_bytes));
      table.add(usable, to_column(shape.usable_bytes));
      table.add(header, to_column(header_bytes(info.allocator, shape)));
      table.add(blocks, static_cast<double>(cell.blocks) * (info.sample_bytes != 0 ? shape.weight : 1.0));
    }
    return table.take();
  }

  Table intervals_table() const {
    TableBuilder table("intervals");
    const auto number = table.column("interval");
    const auto end_ns = table.column("end_ns");
    for (std::size_t at = 0; at < ends_ns.size(); ++at) {
      table.add(number, static_cast<std::int64_t>(at));
      table.add(end_ns, to_column(ends_ns[at]));
    }
    return table.take();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  std::vector<std::uint64_t> ends_ns;
  std::vector<std::uint64_t> last_stamps;  // of each interval
  std::size_t now = 0;                     // interval of the last event
  struct {
    std::uint32_t interval = kNone;
    std::uint32_t allocations = 0;
  } peak;
  std::uint32_t births = 0;
  const LiveSet* inherited;
  std::vector<trace::StackId> stack_of_inherited;
  std::vector<Cell> cells;
  trace::IdTable places;
  Ledger<State> ledger;
};

Lifetimes::Lifetimes(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                     std::span<const trace::ClockPair> clock_pairs, std::vector<std::uint64_t> ends_ns,
                     const LiveSet* inherited, std::optional<PeakPlace> peak)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, std::move(ends_ns), inherited, peak)) {}

Lifetimes::~Lifetimes() = default;

void Lifetimes::consume(std::span<const Event> events) { state_->ledger.consume(events); }

Tables Lifetimes::finish() {
  state_->ledger.map().for_each_live([&](std::uint64_t, std::uint64_t word) { state_->count(word, kNone); });
  Tables made;
  made.put(state_->lives_table());
  made.put(state_->intervals_table());
  return made;
}

}  // namespace tare::core
