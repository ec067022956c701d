// Tables that a recording has made, passed from its launcher to the reader that needs them next.
//
// `tare run` makes the tables of its recording and stores them beside the trace; its own summary then needs them at
// once. Reading a compiler's 28 MB back cost 65 of the summary's 380 ms, nearly all of it page faults.
#pragma once

#include <memory>
#include <string>

#include "core/columns/tables.h"

namespace tare::core {

class FreshTables {
 public:
  // Keeps the tables of the trace at `path`, unless those of another trace are larger: a summary is about one image, as
  // a rule the largest.
  void keep(const std::string& path, std::shared_ptr<const Tables> tables);

  // The tables of the trace at `path`; null if they weren't kept.
  std::shared_ptr<const Tables> of(const std::string& path) const { return path == path_ ? tables_ : nullptr; }

 private:
  std::string path_;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace tare::core
