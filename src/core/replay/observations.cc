// Follows blocks from birth to death, to know which one a note is about.
#include "core/replay/observations.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/replay/content_sums.h"
#include "core/replay/dictionary_union.h"
#include "core/replay/ledger.h"
#include "core/replay/record_slots.h"
#include "trace/content_digest.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

struct Record {
  std::uint64_t id;
  std::uint32_t shape;
  bool inherited;
};

struct Row {
  std::uint64_t block;
  std::uint32_t stack;
  trace::ContentClass content_class;
  std::uint64_t requested;
  std::uint64_t usable;
  std::uint64_t high_water;
  std::uint64_t digest;  // 0: none
};

constexpr std::int64_t kFrees = 0;  // the moment that stands for all of them

}  // namespace

struct Observations::State {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info, const LiveSet* inherited_set)
      : dictionary(own_dictionary), info(own_info), inherited(inherited_set), ledger(*this, info) {
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, add({next_id++, index(block.shape), true}));
    }
  }

  // Ledger's view; see there. Nothing here depends on what a block continues: without stacks nothing is linked.
  struct Dead {};
  void tick(std::uint64_t) {}
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }
  std::uint64_t born(const Event& event) { return add({next_id++, index(event.shape), false}); }
  Dead died(std::uint64_t word, const Event&) {
    records.free(record_of(word));
    return {};
  }
  void continued(const Dead&, std::uint64_t&, GrowthKind, Move) {}
  trace::StackId stack(trace::ShapeId) const { return trace::kEmptyStack; }
  trace::StackId stack(const Dead&) const { return trace::kEmptyStack; }
  std::uint64_t requested_bytes(trace::ShapeId) const { return 0; }
  std::uint64_t requested_bytes(const Dead&) const { return 0; }
  std::uint32_t birth(const Dead&) const { return 0; }
  std::uint32_t last_birth() const { return 0; }
  void other(const Event& event) {
    if (event.kind == EventKind::Contents) {
      is_known = saw(event);
    } else if (event.kind == EventKind::Digest && is_known) {
      rows.back().digest = event.address;
    }
  }

  static constexpr std::uint32_t kLive = 1u << 31;
  static std::uint32_t record_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) & ~kLive; }

  std::uint64_t add(const Record& record) { return kLive | records.add(record); }

  bool saw(const Event& event) {
    const std::uint64_t* word = ledger.map().find(event.address);
    if (!word || !BlockMap::is_live(*word)) return false;
    const Record& record = records[record_of(*word)];
    const trace::Shape& facts = (record.inherited ? inherited->dictionary : dictionary).shapes[record.shape];
    const trace::StackId stack = record.inherited ? stack_of_inherited[index(facts.stack)] : facts.stack;
    const std::uint64_t unwritten = std::min<std::uint64_t>(index(event.shape), facts.requested_bytes);
    rows.push_back({record.id, index(stack), static_cast<trace::ContentClass>(event.api & 3), facts.requested_bytes,
                    facts.usable_bytes, facts.requested_bytes - unwritten, 0});
    return true;
  }

  Table observations_table() const {
    TableBuilder table("observations");
    const auto int_column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
    const auto moment = int_column("moment");
    const auto block_id = int_column("block_id");
    const auto stack_id = int_column("stack_id");
    const auto requested = int_column("requested_bytes");
    const auto usable = int_column("usable_bytes");
    const auto high_water = int_column("high_water_bytes");
    const auto digest = int_column("digest");
    const auto content_class = table.column("content_class", content_class_words());
    const TableBuilder::ColumnId unknown[] = {int_column("start_pointers"), int_column("interior_pointers"),
                                              int_column("reachable"), int_column("last_write_ns")};
    table.reserve(rows.size());
    for (const Row& row : rows) {
      table.add(moment, kFrees);
      table.add(block_id, to_column(row.block));
      table.add(stack_id, std::int64_t{row.stack});
      table.add(requested, to_column(row.requested));
      table.add(usable, to_column(row.usable));
      table.add(high_water, to_column(row.high_water));
      table.add(digest, row.digest == 0 ? std::nullopt : std::optional(to_column(row.digest)));
      // Of larger blocks nobody looked what they hold.
      if (row.requested <= trace::kMostDigestedBytes || row.high_water == 0) {
        const auto shown = row.high_water == 0 ? trace::ContentClass::None : row.content_class;
        table.add_code(content_class, static_cast<std::int32_t>(shown));
      } else {
        table.add_null(content_class);
      }
      for (const auto column : unknown) table.add_null(column);
    }
    return table.take();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  const LiveSet* inherited;
  std::vector<trace::StackId> stack_of_inherited;
  RecordSlots<Record> records;
  std::uint64_t next_id = 0;
  std::vector<Row> rows;
  bool is_known = false;  // the last note was about a block that is there: a digest may follow
  Ledger<State> ledger;
};

Observations::Observations(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                           const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, info, inherited)) {}

Observations::~Observations() = default;

void Observations::consume(std::span<const Event> events) { state_->ledger.consume(events); }

Tables Observations::finish() {
  Tables tables;
  tables.put(state_->observations_table());
  return tables;
}

}  // namespace tare::core
