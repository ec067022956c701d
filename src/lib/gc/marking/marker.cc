#include "lib/gc/marking/marker.h"

#include <algorithm>

#include "lib/gc/heap/types.h"
#include "lib/gc/roots/stack_scan.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

namespace {

// Objects whose memory is prefetched while others are traced: the line of the header, and the line in which most end.
// With 8, and only the line where the object begins, marking a million nodes took 22 ms instead of 16, and half of the
// marking of small trees was waiting for headers, of which every fourth is in the line before its object.
constexpr std::size_t kAhead = 32;
constexpr std::size_t kMostEnd = 16;  // bytes on

}  // namespace

bool Liveness::is_marked(const void* object) const noexcept { return marker_.is_alive(object); }

void Visitor::grow() {
  const std::size_t used = marker_.edges();
  marker_.list_.grow();
  top_ = marker_.list_.begin() + used;
  end_ = marker_.list_.begin() + marker_.list_.capacity();
}

void Visitor::push_interior(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const bool is_verifying = marker_.is_verifying_;
  const std::uintptr_t object = is_verifying ? marker_.heap_.object_around(number) : marker_.heap_.start_of(number);
  if (object != 0) {
    push(marker_.space_.granule_of(object), true);
  } else if (is_verifying) {
    stop("a mixin's pointer or an UncompressedMember points to no object of this heap");
  }
}

// Member objects are never constants: trace() is const so that it changes nothing.
void Visitor::add_weak(const void* slot) {
  auto* bits = static_cast<std::uint32_t*>(const_cast<void*>(slot));
  if (!marker_.is_verifying_) {
    marker_.weak_slots_.push(bits);
  } else {
    marker_.verify_target(marker_.target_of(*bits));
  }
}

void Visitor::add_ephemeron(const void* key_slot, const void* value_slot) {
  const auto* key = static_cast<const std::uint32_t*>(key_slot);
  const auto* value = static_cast<const std::uint32_t*>(value_slot);
  if (!marker_.is_verifying_) {
    marker_.ephemerons_.push({key, value});
  } else if (const void* living = marker_.target_of(*key); living != nullptr) {
    marker_.verify_target(living);
    marker_.verify_target(marker_.target_of(*value));
  }
}

void Visitor::add_array(const void* slot) {
  marker_.array_slots_.push(static_cast<std::uint32_t*>(const_cast<void*>(slot)));
}

void Visitor::add_weak_callback(WeakCallback callback, const void* object) {
  if (!marker_.is_verifying_) marker_.callbacks_.push({callback, object});
}

Marker::Marker(HeapImpl& heap, Rows<std::uint32_t>& list, Sharing sharing) noexcept
    : heap_(heap), space_(heap.space()), sharing_(sharing), list_(list), visitor_(*this) {
  visitor_.is_concurrent_ = sharing == Sharing::Helper;
  visitor_.top_ = list_.begin();
  visitor_.end_ = list_.begin() + list_.capacity();
}

Marker::~Marker() {
  constexpr std::size_t kKept = std::size_t{64} << 10;  // entries; a heap of few objects never has more
  list_.shrink_to(kKept);
}

// By the object's start: of an address further in, the bit may be the next object's.
bool Marker::is_alive(const void* address) const noexcept {
  const std::uintptr_t object = heap_.start_of(reinterpret_cast<std::uintptr_t>(address));
  return object != 0 && space_.is_marked(object);
}

const void* Marker::target_of(std::uint32_t bits) const noexcept {
  const DecodingShape& shape = space_.shape();
  if (bits <= 1) return nullptr;
  return reinterpret_cast<const void*>(shape.origin + (std::uintptr_t{bits & shape.mask} << shape.shift));
}

std::uintptr_t Marker::start_of_target(std::uint32_t bits) const noexcept {
  return heap_.start_of(reinterpret_cast<std::uintptr_t>(target_of(bits)));
}

bool Marker::mark_object(std::uintptr_t object) noexcept {
  if (!(sharing_ == Sharing::None ? space_.mark(object) : space_.mark_shared(object))) return false;
  visitor_.push(space_.granule_of(object), true);
  return true;
}

void Marker::mark_around(const std::uint32_t* granules, std::size_t count) noexcept {
  const std::size_t first = edges();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t object = heap_.start_in_page(space_.object_at(granules[i]));
    visitor_.push(space_.granule_of(object), object != 0);
  }
  sharing_ == Sharing::None ? keep_new_edges(first) : keep_new_edges_of_two(first);
}

void Marker::trace_again(std::uintptr_t object) noexcept {
  if (!mark_object(object)) visitor_.push(space_.granule_of(object), true);
}

// One that is noted as a whole by now is left to that.
void Marker::trace_part(std::uintptr_t place) noexcept {
  const std::uintptr_t object = heap_.start_in_page(place);
  if (object == 0 || !space_.is_marked(object)) return;
  const CellHeader header = header_of(reinterpret_cast<const void*>(object));
  const auto trace_it = types_by_index[header.type()].trace_part;
  if ((header.bits & CellHeader::kRemembered) != 0 || trace_it == nullptr) return;
  const std::size_t first = edges();
  const std::uintptr_t begin = place / HeapImpl::kPartBytes * HeapImpl::kPartBytes;
  trace_it(visitor_, reinterpret_cast<const void*>(object), reinterpret_cast<const void*>(begin),
           reinterpret_cast<const void*>(begin + HeapImpl::kPartBytes));
  keep_new_edges(first);
}

// An object without its mark was freed; there may be a young object in its place.
void Marker::trace_remembered(Rows<std::uint32_t>& objects, Rows<std::uint32_t>& parts) noexcept {
  std::sort(parts.begin(), parts.end());
  for (const std::uint32_t* part = parts.begin(); part != parts.end(); ++part) {
    if (part == parts.begin() || part[-1] != *part) trace_part(space_.object_at(*part));
  }
  parts.set_size(0);
  for (const std::uint32_t granule : objects) {
    const std::uintptr_t object = space_.object_at(granule);
    if (!space_.is_marked(object)) continue;
    header_of(reinterpret_cast<const void*>(object)).bits &= ~CellHeader::kRemembered;
    visitor_.push(granule, true);
  }
  objects.set_size(0);
}

void Marker::mark_roots() noexcept {
  heap_.for_each_strong_root([&](const void* root) {
    const std::uintptr_t object = heap_.object_around(reinterpret_cast<std::uintptr_t>(root));
    if (object == 0) stop("a Persistent points to an object that was freed");
    mark_object(object);
  });
}

void Marker::mark_cross_roots() noexcept {
  heap_.for_each_strong_cross_root([&](const void* root) {
    const std::uintptr_t object = heap_.object_around(reinterpret_cast<std::uintptr_t>(root));
    if (object == 0) stop("a CrossThreadPersistent points to an object that was freed");
    mark_object(object);
  });
}

void Marker::mark_stack() noexcept { heap_.stacks().scan(*this); }

// Of the edges that trace() named from `first` on, those to objects that weren't marked stay in the list.
void Marker::keep_new_edges(std::size_t first) noexcept {
  std::uint64_t* marks = space_.marks();
  std::uint32_t* kept = list_.begin() + first;
  for (const std::uint32_t* edge = kept; edge != visitor_.top_; ++edge) {
    const std::uint32_t granule = *edge;
    const std::uint32_t bit = granule / (cell::kMarkGranuleBytes / cell::kGranuleBytes);
    std::uint64_t& word = marks[bit / 64];
    const std::uint64_t old = word;
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    word = old | mask;
    *kept = granule;
    kept += (old & mask) == 0 ? 1 : 0;
  }
  visitor_.top_ = kept;
}

// The same beside another thread. The test comes first: most edges lead to marked objects, and a locked addition takes
// 5 ns.
void Marker::keep_new_edges_of_two(std::size_t first) noexcept {
  std::uint32_t* kept = list_.begin() + first;
  for (const std::uint32_t* edge = kept; edge != visitor_.top_; ++edge) {
    const std::uint32_t granule = *edge;
    if (space_.mark_shared(space_.object_at(granule))) *kept++ = granule;
  }
  visitor_.top_ = kept;
}

void Marker::trace(std::uint32_t granule) noexcept {
  const auto* object = reinterpret_cast<const void*>(space_.object_at(granule));
  const CellHeader header = header_of(object).seen();
  if (header.is_in_construction()) {
    in_construction_.push(granule);
    return;
  }
  if (!values_by_key_.empty()) [[unlikely]]
    mark_values_of(granule);
  const std::size_t first = edges();
  const auto trace_it = types_by_index[header.type()].trace;
  if (trace_it == nullptr) return;
  if (sharing_ != Sharing::Helper) {
    trace_it(visitor_, object);
  } else if (!trace_beside_owner(granule, trace_it)) {
    return;
  }
  sharing_ == Sharing::None ? keep_new_edges(first) : keep_new_edges_of_two(first);
}

// False if the object is left to the owner; nothing of it has been put aside then.
bool Marker::trace_beside_owner(std::uint32_t granule, void (*trace_it)(Visitor&, const void*)) noexcept {
  const std::size_t first = edges();
  const std::size_t weak_slots = weak_slots_.size();
  const std::size_t ephemerons = ephemerons_.size();
  const std::size_t callbacks = callbacks_.size();
  trace_it(visitor_, reinterpret_cast<const void*>(space_.object_at(granule)));
  if (!visitor_.is_left_) return true;
  visitor_.is_left_ = false;
  visitor_.top_ = list_.begin() + first;
  weak_slots_.set_size(weak_slots);
  ephemerons_.set_size(ephemerons);
  callbacks_.set_size(callbacks);
  left_.push(granule);
  return false;
}

void Marker::add(const std::uint32_t* granules, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) visitor_.push(granules[i], true);
}

void Marker::move_left_to(Rows<std::uint32_t>& left) noexcept {
  left.append(left_.begin(), left_.size());
  left_.set_size(0);
}

void Marker::take_over(Marker& other) noexcept {
  const auto take = [](auto& to, auto& from) {
    to.append(from.begin(), from.size());
    from.set_size(0);
  };
  add(other.waiting(), other.waiting_count());
  other.forget_waiting();
  add(other.left_.begin(), other.left_.size());
  other.left_.set_size(0);
  take(in_construction_, other.in_construction_);
  take(weak_slots_, other.weak_slots_);
  take(ephemerons_, other.ephemerons_);
  take(callbacks_, other.callbacks_);
}

bool Marker::drain(std::size_t deadline_ns, const std::atomic<bool>* is_to_stop) noexcept {
  std::size_t until_look = deadline_ns == kNoDeadline ? SIZE_MAX : kObjectsBetweenLooks;
  std::uint32_t ahead[kAhead];
  std::size_t next = 0;  // the oldest, if all are taken
  std::size_t count = 0;
  for (;;) {
    while (visitor_.top_ != list_.begin() && until_look != 0) {
      const std::uint32_t granule = *--visitor_.top_;
      const auto* object = reinterpret_cast<const std::byte*>(space_.object_at(granule));
      __builtin_prefetch(object - sizeof(CellHeader));
      __builtin_prefetch(object + kMostEnd);
      if (count < kAhead) {
        ahead[count++] = granule;
        continue;
      }
      const std::uint32_t oldest = ahead[next];
      ahead[next] = granule;
      next = (next + 1) % kAhead;
      --until_look;
      trace(oldest);
    }
    if (until_look == 0) {
      if (is_late(deadline_ns) || (is_to_stop != nullptr && is_to_stop->load(std::memory_order_relaxed))) {
        for (std::size_t i = 0; i < count; ++i) visitor_.push(ahead[i], true);
        return false;
      }
      until_look = kObjectsBetweenLooks;
      continue;
    }
    if (count == 0) return true;
    // The queue is empty: the oldest prefetched object is traced, and may find more.
    const std::uint32_t oldest = ahead[next % count];
    ahead[next % count] = ahead[count - 1];
    --count;
    next = 0;
    --until_look;
    trace(oldest);
  }
}

// Their constructors run. Their fields may be uninitialised, or in a state that trace() doesn't expect: words are
// scanned conservatively.
void Marker::scan_in_construction() noexcept {
  while (!in_construction_.empty()) {
    const std::uint32_t granule = in_construction_.pop();
    const std::uintptr_t object = space_.object_at(granule);
    mark_values_of(granule);
    if (!header_of(reinterpret_cast<const void*>(object)).is_in_construction()) {
      visitor_.push(granule, true);  // it was, when it was found
      drain(kNoDeadline);
      continue;
    }
    const Page& page = space_.page_around(object);
    const std::size_t bytes =
        HeapImpl::bytes_of_cells(page) - (page.kind == Page::Kind::Large ? cell::kFirstObject : sizeof(CellHeader));
    scan_words(*this, reinterpret_cast<const std::uintptr_t*>(object), bytes / sizeof(std::uintptr_t));
    drain(kNoDeadline);
  }
}

void Marker::call_weak_callbacks() noexcept {
  const Liveness liveness(*this);
  for (const Callback& callback : callbacks_) callback.call(liveness, callback.object);
}

void Marker::clear_weak() noexcept {
  for (std::uint32_t* slot : weak_slots_) {
    const void* target = target_of(*slot);
    if (target != nullptr && !is_alive(target)) *slot = 0;
  }
  const auto dies = [&](const void* object) { return !is_alive(object); };
  heap_.roots(RootKind::Weak).clear_if(dies);
}

void Marker::clear_weak_cross_roots() noexcept {
  heap_.cross_roots(RootKind::Weak).clear_if([&](const void* object) { return !is_alive(object); });
}

// A word that may be a pointer, or two of 4 bytes, or an intermediate form of compilers between the two.
void Marker::consider_word(std::uintptr_t word) noexcept {
  const auto found = [&](std::uintptr_t object) {
    if (object != 0 && mark_object(object)) ++stack_roots_;
  };
  // A word with the cage's upper bits is a likely pointer. It may point into an object, or right behind it, where loops
  // keep their ends and counters. Behind one that fills its cell is the next one's header.
  if (space_.contains(word)) found(heap_.object_around(word));
  if (space_.contains(word - 1)) found(heap_.object_around(word - 1));

  const DecodingShape& shape = space_.shape();
  const auto consider_offset = [&](std::uintptr_t offset) { found(heap_.object_at(shape.origin + offset)); };
  for (const std::uint32_t half : {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)}) {
    const bool may_be_object = shape.is_signed ? (half & ~shape.mask) != 0 : half > 1;
    if (may_be_object) consider_offset(std::uintptr_t{half & shape.mask} << shape.shift);
  }

  if (shape.shift == 0) return;  // between encoded and decoded there is nothing
  if (shape.is_signed) {
    // Truncated and not yet shifted, or extended and shifted and not yet masked: the bit that means "object" is set,
    // and all bits above are equal.
    const int sign = 31 + shape.shift;
    const std::uintptr_t above = word >> (sign + 1);
    const bool is_extended = above == ~std::uintptr_t{0} >> (sign + 1);
    if ((word >> sign & 1) != 0 && (above == 0 || is_extended)) {
      consider_offset(word & ((std::uintptr_t{1} << sign) - 1));
    }
  } else if (word >> (32 + shape.shift) == 0) {
    consider_offset(word);  // shifted, and the base not yet added
  }
}

void Marker::name_edges(std::uintptr_t object, Rows<std::uint32_t>& edges, Rows<KeyAndValue>& ephemerons) noexcept {
  const CellHeader header = header_of(reinterpret_cast<const void*>(object));
  const auto trace_it = types_by_index[header.type()].trace;
  if (header.is_in_construction() || trace_it == nullptr) return;
  trace_it(visitor_, reinterpret_cast<const void*>(object));
  for (const std::uint32_t* edge = list_.begin(); edge != visitor_.top_; ++edge) edges.push(*edge);
  for (const Ephemeron& pair : ephemerons_) {
    const std::uintptr_t key = start_of_target(*pair.key);
    const std::uintptr_t value = start_of_target(*pair.value);
    if (key != 0 && value != 0) ephemerons.push({space_.granule_of(key), space_.granule_of(value)});
  }
  forget_named();
}

void Marker::name_arrays(std::uintptr_t object, Rows<std::uint32_t*>& arrays, Rows<std::uint32_t>& others) noexcept {
  const CellHeader header = header_of(reinterpret_cast<const void*>(object));
  const auto trace_it = types_by_index[header.type()].trace;
  if (header.is_in_construction() || trace_it == nullptr) return;
  visitor_.is_compacting_ = true;
  trace_it(visitor_, reinterpret_cast<const void*>(object));
  visitor_.is_compacting_ = false;
  others.append(list_.begin(), edges());
  const auto add_target = [&](std::uint32_t bits) {
    if (const std::uintptr_t target = start_of_target(bits); target != 0) others.push(space_.granule_of(target));
  };
  for (const std::uint32_t* slot : weak_slots_) add_target(*slot);
  for (const Ephemeron& pair : ephemerons_) {
    add_target(*pair.key);
    add_target(*pair.value);
  }
  arrays.append(array_slots_.begin(), array_slots_.size());
  forget_named();
}

void Marker::forget_named() noexcept {
  visitor_.top_ = list_.begin();
  ephemerons_.set_size(0);
  weak_slots_.set_size(0);
  callbacks_.set_size(0);
  array_slots_.set_size(0);
}

}  // namespace tare::inline TARE_ABI::gc
