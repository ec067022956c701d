// The CrossThreadPersistents of one kind that point into a heap: a ring, whose head this is. All of it under
// locks().cross_roots.
#pragma once

#include "tare/gc/cross_thread_persistent.h"

namespace tare::gc {

class CrossRootList : private CrossRootLink {
 public:
  CrossRootList() noexcept { next_ = previous_ = this; }
  ~CrossRootList() { next_ = previous_ = nullptr; }  // they were cleared before

  void add(CrossRootLink& root) noexcept {
    root.next_ = this;
    root.previous_ = previous_;
    previous_->next_ = &root;
    previous_ = &root;
  }

  template <class Each>
  void for_each(Each&& each) const {
    for (const CrossRootLink* root = next_; root != this; root = root->next_) each(root->object_);
  }
  template <class Dies>
  void clear_if(Dies&& dies) {
    for (CrossRootLink* root = next_; root != this;) {
      CrossRootLink* following = root->next_;
      if (dies(root->object_)) root->unlink();
      root = following;
    }
  }
  void clear() noexcept {
    while (next_ != this) next_->unlink();
  }
};

}  // namespace tare::gc
