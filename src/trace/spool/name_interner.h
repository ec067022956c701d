// Names from the program: maps places in the spool's string pool to ids in the dictionary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "trace/model/dictionary.h"
#include "trace/model/ids.h"
#include "trace/spool/spool_layout.h"

namespace tare::trace {

// Reads a string of the pool; empty where there is none such.
using NameSource = std::function<std::string(StringRef)>;

class NameInterner {
 public:
  // Adds to the dictionary's names; no other code may do so meanwhile.
  NameInterner(Dictionary& dictionary, NameSource source);

  // kNoName: the source has no such string, or there are kMaxNames already.
  NameId find(StringRef place);

 private:
  Dictionary& dictionary_;
  NameSource source_;
  // Threads that race, and forked children, store one name in two places.
  std::unordered_map<std::string, NameId> by_name_;
  std::unordered_map<std::uint64_t, NameId> by_place_;
};

}  // namespace tare::trace
