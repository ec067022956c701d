// Warnings about one image's recording, some of them at most once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tare::core {

class ImageWarnings {
 public:
  enum class Once : std::uint32_t { Cut = 1, LargeHead = 2, FullDisk = 4 };

  void add(std::string warning) { all_.push_back(std::move(warning)); }
  void add_once(Once kind, std::string warning) {
    const auto bit = static_cast<std::uint32_t>(kind);
    if ((std::exchange(given_, given_ | bit) & bit) == 0) add(std::move(warning));
  }
  std::vector<std::string>& all() { return all_; }  // one line each
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::uint32_t given_ = 0;  // set of Once
};

}  // namespace tare::core
