// Names that the program said, from places in its spool's string pool to ids in the dictionary.
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
  // Adds to the dictionary's names; nobody else may meanwhile.
  NameInterner(Dictionary& dictionary, NameSource source);

  // kNoName: the source has no such string, or there are kMaxNames already.
  NameId find(StringRef place);

 private:
  Dictionary& dictionary_;
  NameSource source_;
  std::unordered_map<std::string, NameId> by_name_;  // threads that race, and forked children, say one in two places
  std::unordered_map<std::uint64_t, NameId> by_place_;
};

}  // namespace tare::trace
