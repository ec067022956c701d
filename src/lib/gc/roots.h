// The Persistents of one kind that point into a heap: a ring, whose head this is.
#pragma once

#include "tare/gc/persistent.h"

namespace tare::gc {

class RootList : private RootLink {
 public:
  RootList() noexcept { next_ = previous_ = this; }
  ~RootList() {
    clear();
    next_ = previous_ = nullptr;
  }

  void add(RootLink& root) noexcept {
    root.next_ = this;
    root.previous_ = previous_;
    previous_->next_ = &root;
    previous_ = &root;
  }

  template <class Each>
  void for_each(Each&& each) const {
    for (const RootLink* root = next_; root != this; root = root->next_) each(root->object_);
  }

  // Those for which dies(object) is true become null.
  template <class Dies>
  void clear_if(Dies&& dies) {
    for (RootLink* root = next_; root != this;) {
      RootLink* following = root->next_;
      if (dies(root->object_)) root->unlink();
      root = following;
    }
  }
  void clear() noexcept {
    while (next_ != this) next_->unlink();
  }
};

}  // namespace tare::gc
