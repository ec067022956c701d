// Allocates and frees shared bytes.
#include "tare/bytes.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tare/good_size.h"
#include "tare/reporter.h"

namespace tare::inline TARE_ABI {

namespace bytes_details {
ReportSharing report_sharing = nullptr;
}  // namespace bytes_details

// The count of memory that can't have a header before it.
struct Bytes::Apart {
  std::atomic<std::uint64_t> references;
  Release release;  // null: data is malloc's, and freed
  void* context;
  const void* data;
  std::size_t size;
};

namespace {

// Below this nothing needs more than malloc's least alignment, and a header of 8 keeps it.
constexpr std::size_t kLeastAligned16 = 16;
// The header and 8 bytes that keep the payload at malloc's alignment.
constexpr std::size_t kAlignedHeader = 16;
// A block of its own for the count costs 48 bytes with its slop and a call of malloc: that must be a small part.
constexpr std::size_t kLeastApart = 256;

struct Placement {
  std::size_t before;    // bytes of the block before the payload; 0: the count lies apart
  std::size_t capacity;  // payload that fits
};

// The placement of `size` bytes of payload that takes the fewest bytes of the heap.
Placement placement_of(std::size_t size, std::size_t size_of_apart) noexcept {
  if (size < kLeastAligned16) {
    const std::size_t around = sizeof(SharedHeader) + 1;  // terminated, as all that directly follows a header
    return {sizeof(SharedHeader), std::min(capacity_for(size, around), kLeastAligned16 - 1)};
  }
  if (size > SharedHeader::kLargestSize - kAlignedHeader) return {0, size};
  const std::size_t together = capacity_for(size, kAlignedHeader);
  if (size >= kLeastApart) {
    const std::size_t alone = good_size(size);
    if (together + kAlignedHeader > alone + good_size(size_of_apart) + kAlignedHeader) return {0, alone};
  }
  return {kAlignedHeader, std::min<std::size_t>(together, SharedHeader::kLargestSize)};
}

void tell_recorder(const void* block, bool are_several) { tare_report_sharing(block, are_several ? 1 : 0); }

// Before main: which threads there are sees one value.
__attribute__((constructor)) void listen() {
  const char* wanted = std::getenv("TARE_REPORT_SHARING");
  if (wanted != nullptr && wanted[0] == '1') bytes_details::report_sharing = tell_recorder;
}

// Reports a block whose owners are counted from here on.
void tell_made(const void* block) noexcept {
  if (bytes_details::report_sharing != nullptr && block != nullptr) bytes_details::report_sharing(block, false);
}

}  // namespace

UniqueBytes UniqueBytes::allocate(std::size_t least_bytes) noexcept {
  UniqueBytes made;
  if (least_bytes > kLargestRequest) return made;
  const Placement placement = placement_of(least_bytes, sizeof(Bytes::Apart));
  const bool is_terminated = placement.before == sizeof(SharedHeader);
  void* block = std::malloc(placement.before + placement.capacity + (is_terminated ? 1 : 0));
  if (block == nullptr) return made;
  if (placement.before != 0) {
    new (block) SharedHeader(SharedOwner::Heap, static_cast<std::uint32_t>(placement.capacity), 1);
    made.holder_ = reinterpret_cast<std::uintptr_t>(block);
  } else {
    made.holder_ = Bytes::make_apart(block, placement.capacity, nullptr, nullptr);
    if (made.holder_ == 0) {
      std::free(block);
      return made;
    }
  }
  made.data_ = static_cast<char*>(block) + placement.before;
  made.capacity_ = placement.capacity;
  return made;
}

Bytes UniqueBytes::share(std::size_t size_bytes) && noexcept {
  if ((holder_ & Bytes::kApart) == 0 && holder_ != 0) {
    auto* header = reinterpret_cast<SharedHeader*>(holder_);
    header->set_size_bytes(static_cast<std::uint32_t>(size_bytes));
    if (data_ == header->characters()) data_[size_bytes] = '\0';
  }
  capacity_ = 0;
  Bytes shared(std::exchange(data_, nullptr), size_bytes, std::exchange(holder_, 0));
  tell_made(shared.block_of_bytes());
  return shared;
}

Bytes Bytes::copy(const void* data, std::size_t size_bytes) noexcept {
  if (size_bytes == 0) return of_static("");
  UniqueBytes made = UniqueBytes::allocate(size_bytes);
  if (made.is_null()) return Bytes();
  std::memcpy(made.data(), data, size_bytes);
  return std::move(made).share(size_bytes);
}

Bytes Bytes::copy_of_text(std::string_view text) noexcept {
  if (text.empty()) return of_static("");
  if (text.size() > SharedHeader::kLargestSize) return Bytes();
  void* block = std::malloc(sizeof(SharedHeader) + text.size() + 1);
  if (block == nullptr) return Bytes();
  auto* header = new (block) SharedHeader(SharedOwner::Heap, static_cast<std::uint32_t>(text.size()), 1);
  std::memcpy(header->writable_characters(), text.data(), text.size());
  header->writable_characters()[text.size()] = '\0';
  tell_made(header);
  return adopt_shared(header);
}

std::uintptr_t Bytes::make_apart(const void* data, std::size_t size, Release release, void* context) noexcept {
  void* block = std::malloc(sizeof(Apart));
  if (block == nullptr) return 0;
  return reinterpret_cast<std::uintptr_t>(new (block) Apart{{1}, release, context, data, size}) + kApart;
}

Bytes Bytes::adopt(const void* data, std::size_t size_bytes, Release release, void* context) noexcept {
  const std::uintptr_t holder = make_apart(data, size_bytes, release, context);
  if (holder == 0) return Bytes();
  return Bytes(data == nullptr ? "" : static_cast<const char*>(data), size_bytes, holder);
}

Bytes Bytes::adopt_malloced(void* block, std::size_t size_bytes) noexcept {
  Bytes adopted = adopt(block, size_bytes, nullptr, nullptr);
  if (!adopted.is_null()) tell_made(block);
  return adopted;
}

void Bytes::acquire_apart() const noexcept {
  apart()->references.fetch_add(1, std::memory_order_relaxed);
  if (bytes_details::report_sharing != nullptr) [[unlikely]]
    report_second_owner();
}

void Bytes::report_second_owner() const noexcept {
  const std::uint64_t holders = is_apart() ? apart()->references.load() : header()->references();
  const void* block = block_of_bytes();
  if (holders == 2 && block != nullptr) bytes_details::report_sharing(block, true);
}

const void* Bytes::block_of_bytes() const noexcept {
  const Blocks held = blocks();
  return holder_ != 0 && is_apart() ? held.second : held.first;
}

void Bytes::release_apart() const noexcept {
  Apart* held = apart();
  // release: earlier accesses to the bytes come before the free; acquire: for the thread that frees them
  if (held->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (held->release == nullptr) {
    std::free(const_cast<void*>(held->data));
  } else {
    held->release(held->data, held->size, held->context);
  }
  std::free(held);
}

Bytes Bytes::slice(std::size_t offset, std::size_t count) const noexcept {
  if (is_null()) return Bytes();
  const std::size_t begin = std::min(offset, size_);
  const std::size_t size = std::min(count, size_ - begin);
  if (size == 0) return of_static("");
  acquire();
  return Bytes(data_ + begin, size, holder_);
}

bool Bytes::is_shared() const noexcept {
  if (holder_ == 0) return !is_null();
  return is_apart() ? apart()->references.load(std::memory_order_acquire) > 1 : !header()->is_unique();
}

char* Bytes::data_if_unique() noexcept {
  if (holder_ == 0 || is_shared() || (is_apart() && apart()->release != nullptr)) return nullptr;
  return const_cast<char*>(data_);
}

SharedHeader* Bytes::shared_header() const noexcept {
  if (holder_ == 0 || is_apart()) return nullptr;
  return data_ == header()->characters() && size_ == header()->size_bytes() ? header() : nullptr;
}

Bytes::Blocks Bytes::blocks() const noexcept {
  if (holder_ == 0) return {};
  if (is_apart()) return {apart(), apart()->release == nullptr ? apart()->data : nullptr};
  if (header()->owner() != SharedOwner::Heap) return {};
  return {header(), nullptr};
}

}  // namespace tare::inline TARE_ABI
