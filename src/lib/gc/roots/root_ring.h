// The head of a ring: all roots of one kind that point into a heap.
#pragma once

#include "tare/gc/located_persistent.h"

namespace tare::inline TARE_ABI::gc {

// LocatedLink: the type of the links of a list of RootKind::Located.
template <class Link, class LocatedLink>
class RootRing : private Link {
 public:
  RootRing() noexcept { this->next_ = this->previous_ = this; }
  ~RootRing() {
    clear();
    this->next_ = this->previous_ = nullptr;
  }

  void add(Link& root) noexcept {
    root.next_ = this;
    root.previous_ = this->previous_;
    this->previous_->next_ = &root;
    this->previous_ = &root;
  }

  template <class Each>
  void for_each(Each&& each) const {
    for (const Link* root = this->next_; root != this; root = root->next_) each(root->object_);
  }

  // each(object, where). In a list of RootKind::Located only.
  template <class Each>
  void for_each_located(Each&& each) const {
    for (const Link* root = this->next_; root != this; root = root->next_) {
      each(root->object_, static_cast<const LocatedLink*>(root)->where());
    }
  }

  // Those for which dies(object) is true become null.
  template <class Dies>
  void clear_if(Dies&& dies) {
    for (Link* root = this->next_; root != this;) {
      Link* following = root->next_;
      if (dies(root->object_)) root->unlink();
      root = following;
    }
  }
  void clear() noexcept {
    while (this->next_ != this) this->next_->unlink();
  }
};

using RootList = RootRing<RootLink, LocatedRootLink>;
// All of it under locks().cross_roots, and empty when its heap ends.
using CrossRootList = RootRing<CrossRootLink, LocatedCrossRootLink>;

}  // namespace tare::inline TARE_ABI::gc
