#include "lib/atoms/table_pages.h"

#include <algorithm>

#include "lib/atoms/range.h"

namespace tare::inline TARE_ABI {

CageResult<PageRun> TablePages::allocate(std::size_t size_bytes) {
  CageResult<PageRun> run = atom_range::allocate(size_bytes, id_);
  if (run) tare_pool_grow(pool_, run.value().data, run.value().size_bytes);
  return run;
}

void TablePages::free(const PageRun& run, FreedPages pages) {
  tare_pool_shrink(pool_, run.data);
  atom_range::free(run, pages);
}

CageResult<PageRun> TablePages::allocate_small(std::size_t size_bytes) {
  const Lock lock(mutex_);
  if (next_ == end_) {
    const CageResult<PageRun> got = allocate(atom_range::page_bytes());
    if (!got) return got.error();
    small_bytes_ += got.value().size_bytes;
    ++small_pages_;
    auto* page = reinterpret_cast<Page*>(got.value().data);
    page->next = first_page_;
    first_page_ = AtomBlock::handle_of(page);
    next_ = got.value().data + sizeof(Page);
    end_ = got.value().data + got.value().size_bytes;
  }
  // The page's own bytes are taken from its first slab.
  const std::size_t past_grain = reinterpret_cast<std::uintptr_t>(next_) % kSmallGrain;
  const std::size_t given = std::min(size_bytes - past_grain, static_cast<std::size_t>(end_ - next_));
  next_ += given;
  return PageRun{next_ - given, given, PageRun::Contents::Stale};
}

void TablePages::leave(Held held) {
  while (first_page_ != 0) {
    auto* page = reinterpret_cast<std::byte*>(AtomBlock::at(first_page_));
    first_page_ = reinterpret_cast<Page*>(page)->next;
    const PageRun run{page, atom_range::page_bytes(), PageRun::Contents::Stale};
    if (held == Held::None) {
      unpoison(page, run.size_bytes);
      free(run, FreedPages::Return);
    } else {
      atom_range::abandon(run);
    }
  }
  tare_pool_destroy(pool_);
}

void TablePages::add_use(AtomTableUse& use) {
  const Lock lock(mutex_);
  use.mapped_bytes += small_bytes_;
  use.unfilled_bytes += static_cast<std::size_t>(end_ - next_) + small_pages_ * sizeof(Page);
}

}  // namespace tare::inline TARE_ABI
