// The processes of a container, as a list of them shows each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/result.h"
#include "trace/model/process_info.h"

namespace tare::core {

struct Member {
  std::string path;  // of its trace, for `tare report`
  std::string name;
  trace::ProcessInfo info;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

struct MemberList {
  std::vector<Member> members;        // in the order in which they ended
  std::vector<std::string> warnings;  // what is missing, with the reason
};

Result<MemberList> list_members(const std::string& container);

}  // namespace tare::core
