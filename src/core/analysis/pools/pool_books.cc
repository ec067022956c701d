// Divides bytes between pools and the blocks that contain them: see pool_books.h.
#include "core/analysis/pools/pool_books.h"

#include <algorithm>

#include "trace/spool/program_note.h"

namespace tare::core {
namespace {

using trace::index;

constexpr std::uint64_t kLeastLargeBytes = 4096;
constexpr std::uint64_t kStartStep = 8;
// Large blocks of pools that don't hold an address and lie before it, but within one that does: few pools divide their
// memory twice, and a damaged trace shall not make this quadratic.
constexpr int kMostNeighbours = 1024;
constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;

std::size_t at(PoolBooks::Moment moment) { return static_cast<std::size_t>(moment); }
constexpr auto kPeak = static_cast<std::size_t>(PoolBooks::Moment::Peak);
constexpr auto kEnd = static_cast<std::size_t>(PoolBooks::Moment::End);  // while replaying: now
constexpr auto kTotal = static_cast<std::size_t>(PoolBooks::Moment::Total);

}  // namespace

PoolBooks::Change PoolBooks::consume(const trace::Event& event, const Now& now, const BlockAround& around) {
  now_ = now;
  change_ = {};
  around_ = &around;
  ledger_.consume(event);
  around_ = nullptr;
  return change_;
}

PoolBooks::Change PoolBooks::ended(std::uint64_t address, const Now& now) {
  now_ = now;
  change_ = {};
  if (const auto host = hosts_.find(key(address, Kind::Heap)); host != hosts_.end()) {
    close(host->second);
    hosts_.erase(host);
  }
  return change_;
}

void PoolBooks::mark_at() {
  for (ByShape* group : {&recorded_, &inherited_}) {
    for (auto& [shape, sums] : *group) {
      sums.live[at(Moment::At)] = sums.live[kEnd];
      sums.taken[at(Moment::At)] = sums.taken[kEnd];
    }
  }
}

void PoolBooks::finish(const Now& end) {
  now_ = end;
  for (auto& [shape, entry] : recorded_) {
    sums(shape, false);
    entry.age_sum += entry.live[kEnd] * end.age;
    entry.taken_byte_ages += entry.taken[kEnd].usable_bytes * end.age;
  }
  for (auto& [shape, entry] : inherited_) sums(shape, true);
  for (const auto& [address, host] : hosts_) add_to_total(host);
  ledger_.for_each_memory([&](std::size_t piece) { add_to_total(pieces_[piece].host); });
}

// Of shapes that only mappings and pools have; others come from a damaged trace.
bool PoolBooks::is_known(const trace::Event& event) const {
  return index(event.shape) < dictionary_.shapes.size() && dictionary_.shapes[index(event.shape)].is_map != 0;
}

std::uint64_t PoolBooks::bytes_of(std::uint32_t shape) const {
  return std::min(dictionary_.shapes[shape].requested_bytes, kMostBytes);
}

// The sums of a shape; their values at the peak are saved before the first change: see ShapeSums.
PoolBooks::Sums& PoolBooks::sums(std::uint32_t shape, bool inherited) {
  Sums& found = (inherited ? inherited_ : recorded_)[shape];
  if (found.epoch != now_.epoch) {
    found.live[kPeak] = found.live[kEnd];
    found.taken[kPeak] = found.taken[kEnd];
    found.epoch = now_.epoch;
  }
  return found;
}

void PoolBooks::came(std::uint32_t shape) {
  Sums& of = sums(shape, false);
  ++of.live[kEnd];
  ++of.live[kTotal];
  of.age_sum -= now_.age;
  change_.blocks_q += kOne;
}

void PoolBooks::went(std::uint32_t shape, std::uint32_t birth) {
  Sums& of = sums(shape, false);
  --of.live[kEnd];
  of.age_sum += now_.age;
  ++of.ended[age_class(births_ + now_.births - birth)];
  change_.blocks_q -= kOne;
}

PoolBooks::Host PoolBooks::host_of(std::uint32_t shape, std::uint64_t requested_bytes) {
  const std::uint64_t bytes = bytes_of(shape);
  return {++last_serial_, requested_bytes, bytes, kOne, shape, false};
}

void PoolBooks::open(const Host& host) { ++sums(host.shape, host.inherited).taken[kEnd].blocks; }

// `part_bytes` of `from` are counted by themselves from now on.
void PoolBooks::take(Host& from, std::uint64_t part_bytes) {
  Sums& of = sums(from.shape, from.inherited);
  const auto usable = [&](std::uint64_t told) { return std::min(told, from.usable_bytes); };
  const auto requested = [&](std::uint64_t told) { return std::min(told, from.requested_bytes); };
  // Modulo 2^64: negative where less is taken than before.
  const std::uint64_t usable_change = usable(part_bytes) - usable(from.part_bytes);
  const std::uint64_t requested_change = requested(part_bytes) - requested(from.part_bytes);
  of.taken[kEnd].usable_bytes += usable_change;
  of.taken[kEnd].requested_bytes += requested_change;
  of.taken_byte_ages -= usable_change * now_.age;
  change_.usable_q -= usable_change * from.weight_q;
  change_.requested_q -= requested_change * from.weight_q;
  from.part_bytes = part_bytes;
  from.most_bytes = std::max(from.most_bytes, part_bytes);
}

void PoolBooks::close(Host& host) {
  take(host, 0);
  --sums(host.shape, host.inherited).taken[kEnd].blocks;
  add_to_total(host);
}

void PoolBooks::add_to_total(const Host& host) {
  Taken& total = sums(host.shape, host.inherited).taken[kTotal];
  ++total.blocks;
  total.usable_bytes += std::min(host.most_bytes, host.usable_bytes);
  total.requested_bytes += std::min(host.most_bytes, host.requested_bytes);
}

// The innermost block of a pool that contains an address. A pool's own header, or padding for alignment, may lie
// between the block's start and the address. Small blocks are found by their starts, and need no order among millions.
std::optional<std::size_t> PoolBooks::block_around(std::uint64_t address) const {
  for (std::uint64_t back = 0; back < kLeastLargeBytes && back <= address; back += kStartStep) {
    const std::optional<std::size_t> found = ledger_.block_at(address - back);
    if (found && blocks_[*found].bytes > back) return found;
  }
  auto after = large_blocks_.upper_bound(address);
  for (int looked_at = 0; looked_at < kMostNeighbours && after != large_blocks_.begin(); ++looked_at) {
    const auto& [start, found] = *--after;
    if (address - start < blocks_[found].bytes) return found;
  }
  return std::nullopt;
}

// A block inside another pool's block, or inside a block of malloc, takes its bytes from that block.
PoolBooks::Place PoolBooks::settle(std::uint64_t address, std::uint64_t bytes) {
  const std::optional<std::size_t> block = block_around(address);
  std::optional<HeapBlock> heap_block;
  if (!block) heap_block = (*around_)(address);
  if (!block && !heap_block) return {};
  const std::uint64_t place = block ? key(blocks_[*block].address, Kind::Pool) : key(heap_block->address, Kind::Heap);
  const auto [at, fresh] = hosts_.try_emplace(place);
  Host& host = at->second;
  if (fresh) {
    host = block ? host_of(blocks_[*block].shape, blocks_[*block].bytes)
                 : Host{++last_serial_,       heap_block->requested_bytes, heap_block->usable_bytes,
                        heap_block->weight_q, heap_block->shape,           heap_block->inherited};
    open(host);
  }
  take(host, host.part_bytes + bytes);
  return {place, host.serial};
}

void PoolBooks::leave(const Place& place, std::uint64_t bytes) {
  if (place.serial == 0) return;
  const auto host = hosts_.find(place.key);
  if (host == hosts_.end() || host->second.serial != place.serial) return;  // it ended first
  take(host->second, host->second.part_bytes - bytes);
}

std::size_t PoolBooks::memory_got(std::size_t, const trace::Event& event) {
  const std::uint32_t shape = index(event.shape);
  if (!is_known(event)) return pieces_.add({});
  Piece piece;
  piece.bytes = bytes_of(shape);
  piece.birth = births_ + now_.births;
  piece.host = host_of(shape, 0);
  piece.place = settle(trace::pool_address(event.address), piece.bytes);
  came(shape);
  sums(shape, false).is_memory = true;
  change_.usable_q += piece.bytes * kOne;
  open(piece.host);
  return pieces_.add(piece);
}

void PoolBooks::memory_left(std::size_t, std::size_t id) {
  Piece& piece = pieces_[id];
  pieces_.free(id);
  if (piece.host.serial == 0) return;  // of an unknown shape
  close(piece.host);
  went(piece.host.shape, piece.birth);
  change_.usable_q -= piece.bytes * kOne;
  leave(piece.place, piece.bytes);
  piece.host.serial = 0;
}

std::size_t PoolBooks::block_out(std::size_t, std::optional<std::size_t> piece, const trace::Event& event) {
  if (!is_known(event)) return blocks_.add({});
  ++births_;
  Block block;
  block.is_known = true;
  block.address = trace::pool_address(event.address);
  block.shape = index(event.shape);
  block.bytes = bytes_of(block.shape);
  block.birth = births_ + now_.births;
  if (piece && pieces_[*piece].host.serial != 0) {
    Host& host = pieces_[*piece].host;
    block.piece = *piece;
    block.piece_serial = host.serial;
    take(host, host.part_bytes + block.bytes);
  } else {
    block.place = settle(block.address, block.bytes);
  }
  came(block.shape);
  change_.usable_q += block.bytes * kOne;
  change_.requested_q += block.bytes * kOne;
  const std::size_t id = blocks_.add(block);
  if (block.bytes >= kLeastLargeBytes) large_blocks_[block.address] = id;
  return id;
}

void PoolBooks::block_back(std::size_t, std::size_t id) {
  const Block& block = blocks_[id];
  blocks_.free(id);
  if (!block.is_known) return;
  if (const auto large = large_blocks_.find(block.address); large != large_blocks_.end() && large->second == id)
    large_blocks_.erase(large);
  if (const auto host = hosts_.find(key(block.address, Kind::Pool)); host != hosts_.end()) {
    close(host->second);
    hosts_.erase(host);
  }
  if (block.piece_serial != 0 && pieces_[block.piece].host.serial == block.piece_serial) {
    Host& host = pieces_[block.piece].host;
    take(host, host.part_bytes - block.bytes);
  }
  leave(block.place, block.bytes);
  went(block.shape, block.birth);
  change_.usable_q -= block.bytes * kOne;
  change_.requested_q -= block.bytes * kOne;
}

}  // namespace tare::core
