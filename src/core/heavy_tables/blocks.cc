// One record a live block, one row when it ends.
#include "core/heavy_tables/blocks.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/dictionary_union.h"
#include "core/analysis/ledger.h"
#include "core/analysis/record_slots.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};
constexpr std::int64_t kNull = std::int64_t{-1} << 62;

struct Record {
  std::uint64_t id;
  std::uint64_t grown_from;
  std::uint64_t birth_ns;
  std::uint32_t shape;
  std::uint16_t thread;
  std::uint16_t inherited;
};

// Columns of one batch, filled by position: a row costs 15 stores and no look-up.
class Batch {
 public:
  enum Int {
    BlockId,
    ShapeId,
    Thread,
    Birth,
    Death,
    AllocStack,
    FreeStack,
    Requested,
    Usable,
    Align,
    GrownFrom,
    Inherited,
    Address,
    kInts
  };

  Batch() {
    for (auto& column : ints_) column.reserve(BlockStream::kBatchRows);
    weight_.reserve(BlockStream::kBatchRows);
    api_.reserve(BlockStream::kBatchRows);
  }
  std::size_t rows() const { return api_.size(); }
  void put(Int column, std::uint64_t value) { ints_[column].push_back(static_cast<std::int64_t>(value)); }
  void put_null(Int column) { ints_[column].push_back(kNull); }
  void put(double weight, trace::AllocApi api) {
    weight_.push_back(weight);
    api_.push_back(static_cast<std::int32_t>(api) & 31);
  }

  Table take() {
    Table table;
    table.name = "blocks";
    const auto add = [&](const char* name, Int from) {
      Column column;
      column.name = name;
      column.ints = std::move(ints_[from]);
      return table.columns.emplace_back(std::move(column)).ints.size();
    };
    const auto add_nullable = [&](const char* name, Int from) {
      add(name, from);
      Column& column = table.columns.back();
      column.valid.reserve(column.ints.size());
      for (std::int64_t& value : column.ints) {
        column.valid.push_back(value != kNull);
        if (value == kNull) value = 0;
      }
    };
    add("block_id", BlockId);
    add("size_id", ShapeId);
    add("thread", Thread);
    add("allocated_ns", Birth);
    add_nullable("freed_ns", Death);
    add("alloc_stack_id", AllocStack);
    add_nullable("free_stack_id", FreeStack);
    add("requested_bytes", Requested);
    add("usable_bytes", Usable);
    add("align_bytes", Align);
    Column api;
    api.name = "api";
    api.type = ColumnType::String;
    api.words = api_words();
    api.codes = std::move(api_);
    table.columns.push_back(std::move(api));
    add_nullable("grown_from", GrownFrom);
    Column weight;
    weight.name = "weight";
    weight.type = ColumnType::Double;
    weight.doubles = std::move(weight_);
    table.columns.push_back(std::move(weight));
    add("inherited", Inherited);
    add("address", Address);
    return table;
  }

 private:
  std::vector<std::int64_t> ints_[kInts];
  std::vector<double> weight_;
  std::vector<std::int32_t> api_;
};

}  // namespace

struct BlockStream::State {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, BlockSink to, const LiveSet* inherited_set)
      : dictionary(own_dictionary),
        info(own_info),
        clock(clock_pairs),
        sink(std::move(to)),
        inherited(inherited_set),
        ledger(*this, info) {
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, add({next_id++, kNoBlock, 0, index(block.shape), 0, 1}));
    }
  }

  // Ledger's view; see there.
  struct Dead {
    Record record;
    trace::StackId stack{};
    std::uint32_t birth = 0;
  };
  void tick(std::uint64_t) {}
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }
  std::uint64_t born(const Event& event) {
    ++births;
    return add({next_id++, kNoBlock, clock.ns(event.stamp), index(event.shape), event.thread, 0});
  }
  Dead died(std::uint64_t word, const Event& event) {
    const auto at = static_cast<std::uint32_t>(word) & ~kLive;
    Dead dead{records[at], trace::kEmptyStack, static_cast<std::uint32_t>(word >> 32)};
    if (!dead.record.inherited) dead.stack = shape(dead.record).stack;
    records.free(at);
    emit(dead.record, word_address(event), &event);
    return dead;
  }
  void continued(const Dead& dead, std::uint64_t& word, GrowthKind, Move) {
    Record& record = records[static_cast<std::uint32_t>(word) & ~kLive];
    if (record.grown_from == kNoBlock) record.grown_from = dead.record.id;
  }
  trace::StackId stack(trace::ShapeId id) const { return dictionary.shapes[index(id)].stack; }
  trace::StackId stack(const Dead& dead) const { return dead.stack; }
  std::uint64_t requested_bytes(trace::ShapeId id) const { return dictionary.shapes[index(id)].requested_bytes; }
  std::uint64_t requested_bytes(const Dead& dead) const { return shape(dead.record).requested_bytes; }
  std::uint32_t birth(const Dead& dead) const { return dead.birth; }
  std::uint32_t last_birth() const { return births; }
  void other(const Event&) {}

  static constexpr std::uint32_t kLive = 1u << 31;

  static std::uint64_t word_address(const Event& event) { return event.address; }

  const trace::Shape& shape(const Record& record) const {
    return (record.inherited ? inherited->dictionary : dictionary).shapes[record.shape];
  }

  std::uint64_t add(const Record& record) { return std::uint64_t{births} << 32 | kLive | records.add(record); }

  // `death` is null for a block that is live at the end.
  void emit(const Record& record, std::uint64_t address, const Event* death) {
    const trace::Shape& facts = shape(record);
    const trace::StackId alloc_stack = record.inherited ? stack_of_inherited[index(facts.stack)] : facts.stack;
    batch.put(Batch::BlockId, record.id);
    batch.put(Batch::ShapeId, record.inherited ? dictionary.shapes.size() + record.shape : record.shape);
    batch.put(Batch::Thread, record.thread);
    batch.put(Batch::Birth, record.birth_ns);
    if (death) {
      batch.put(Batch::Death, clock.ns(death->stamp));
    } else {
      batch.put_null(Batch::Death);
    }
    batch.put(Batch::AllocStack, index(alloc_stack));
    const bool has_stack = death && info.free_stacks && death->shape != trace::kNoShape &&
                           (death->kind == EventKind::Free || death->kind == EventKind::ReallocEnd);
    if (has_stack) {
      batch.put(Batch::FreeStack, index(death->shape));
    } else {
      batch.put_null(Batch::FreeStack);
    }
    batch.put(Batch::Requested, facts.requested_bytes);
    batch.put(Batch::Usable, facts.usable_bytes);
    batch.put(Batch::Align, facts.align_log2 == 0 ? 0 : std::uint64_t{1} << (facts.align_log2 & 63));
    if (record.grown_from == kNoBlock) {
      batch.put_null(Batch::GrownFrom);
    } else {
      batch.put(Batch::GrownFrom, record.grown_from);
    }
    batch.put(Batch::Inherited, record.inherited);
    batch.put(Batch::Address, address);
    batch.put(info.sample_bytes != 0 ? facts.weight : 1.0, facts.api);
    if (batch.rows() == kBatchRows) flush();
  }

  void flush() {
    if (batch.rows() == 0 || failure) return;
    Status status = sink(std::exchange(batch, Batch()).take());
    if (!status) failure = status.error();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  trace::Clock clock;
  BlockSink sink;
  const LiveSet* inherited;
  std::vector<trace::StackId> stack_of_inherited;
  RecordSlots<Record> records;
  std::uint64_t next_id = 0;
  std::uint32_t births = 0;
  Batch batch;
  std::optional<Error> failure;
  Ledger<State> ledger;
};

BlockStream::BlockStream(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                         std::span<const trace::ClockPair> clock_pairs, BlockSink sink, const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, std::move(sink), inherited)) {}

BlockStream::~BlockStream() = default;

void BlockStream::consume(std::span<const Event> events) {
  if (!state_->failure) state_->ledger.consume(events);
}

Status BlockStream::finish() {
  State& state = *state_;
  state.ledger.map().for_each_live([&](std::uint64_t address, std::uint64_t word) {
    if (!state.failure) state.emit(state.records[static_cast<std::uint32_t>(word) & ~State::kLive], address, nullptr);
  });
  state.flush();
  if (state.failure) return *state.failure;
  return ok();
}

}  // namespace tare::core
