// One walk over the events: each call becomes a step, each block's address a slot. With rules, steps are those of a
// program with the remedies in its source; a call that a remedy avoids becomes StepKind::Nothing, so that the steps of
// both scripts have the same order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "allocator_replay/script/address_map.h"
#include "allocator_replay/script/kept_blocks.h"
#include "allocator_replay/script/last_blocks.h"
#include "allocator_replay/script/output_file.h"
#include "allocator_replay/script/rewrite_rules.h"
#include "allocator_replay/script/script_writer.h"
#include "allocator_replay/script/slabs.h"
#include "allocator_replay/script/step_file.h"
#include "trace/model/event_sink.h"
#include "trace/open/open_trace.h"

namespace tare::core {

class ScriptSink final : public trace::EventSink {
 public:
  // `rules` must outlive it.
  ScriptSink(const trace::OpenedTrace& trace, OutputFile& file, const RewriteRules& rules);

  void consume(std::span<const trace::Event> events) override;

  bool is_too_long() const { return steps_.is_too_long(); }
  ScriptSummary finish();

 private:
  enum class Storage : std::uint8_t {
    Own,   // a block of the allocator, in the slot
    Cell,  // in a slab
    None,  // avoided, part of another block, or freed early
  };
  // The place of a live block's allocation in the script: the written bytes are added there when they are known.
  struct LiveBlock {
    std::uint64_t bytes;  // that the program uses
    std::uint64_t room;   // requested from the allocator
    std::uint64_t what;
    StepFile::Place place;
    std::uint32_t slot;
    std::uint32_t shape;
    Storage storage;
    Slabs::Cell cell;
  };

  void take(const trace::Event& event);
  StepKind kind_of(const trace::Event& event) const;
  const RewriteRule& rule_of(const LiveBlock& block) const { return rules_.of(trace::ShapeId{block.shape}); }

  void born(const trace::Event& event, StepKind kind);
  LiveBlock own(const trace::Event& event, StepKind kind, std::uint64_t bytes, std::uint64_t room);
  // By a remedy; nothing: the allocator serves it as recorded.
  std::optional<LiveBlock> remedied(const trace::Event& event, StepKind kind, std::uint64_t bytes,
                                    const RewriteRule& rule);
  LiveBlock avoided(const trace::Event& event, StepKind kind, std::uint64_t bytes);
  std::optional<LiveBlock> merged(const trace::Event& event, std::uint32_t group, std::uint64_t bytes);
  LiveBlock grown(const trace::Event& event, std::uint64_t bytes, std::uint64_t room, const LiveBlock& from);
  std::optional<LiveBlock> reused(const trace::Event& event, std::uint32_t group, std::uint64_t bytes);
  LiveBlock in_slab(const trace::Event& event, std::uint32_t group, std::uint64_t bytes);

  void freed(const trace::Event& event);
  void realloced(const trace::Event& event);
  void free_block(const trace::Event& event, const LiveBlock& block);
  void free_slot(const trace::Event& event, std::uint32_t slot, std::uint64_t room);
  bool passes_to_successor(const trace::Event& event, const LiveBlock& block);
  void free_what_is_due(const trace::Event& event);
  bool is_chosen(std::uint32_t shape, double share);
  void patch(LiveBlock& block, std::uint64_t what);
  void trim(LiveBlock& block, std::uint64_t bytes);
  void change_ends();
  void thread_ended(const trace::Event& event);
  void set_written(LiveBlock& block, std::uint64_t unwritten_bytes);

  void hold(std::uint64_t bytes);
  StepFile::Place add(const trace::Event& event, std::uint64_t what, std::uint32_t slot = 0);

  const trace::Dictionary& dictionary_;
  const RewriteRules& rules_;
  const trace::Clock clock_;
  StepFile steps_;
  ScriptSummary summary_;
  AddressMap<LiveBlock> live_;
  std::unordered_map<std::uint32_t, LiveBlock> moving_;  // by thread: between the halves of a realloc
  Slabs slabs_;
  KeptBlocks kept_;
  LastBlocks last_blocks_;
  std::vector<double> owed_;                                      // by shape: parts of blocks that `share` has chosen
  std::map<std::uint64_t, std::vector<std::uint32_t>> due_;       // shapes by the time when their blocks are freed
  std::unordered_map<std::uint64_t, std::uint64_t> open_firsts_;  // by thread and group: the address
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_order_ = 0;
};

}  // namespace tare::core
