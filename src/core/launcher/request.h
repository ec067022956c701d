// A request as encoded in a user's link: see request_desk.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/base/result.h"

namespace tare::core {

enum class RequestVerb : std::uint8_t { Pause, Resume, Snapshot, Figures };

struct Request {
  enum class Whom : std::uint8_t { Process, All, Largest };

  RequestVerb verb;
  Whom whom;
  pid_t pid;         // where it's a process; above 0
  std::string name;  // of a snapshot; at most kMostNameBytes
  static constexpr std::size_t kMostNameBytes = 200;
};

// Anyone who can write into the folder can make such links: an invalid one is an error with its reason. Usage.
Result<Request> parse_request(std::string_view text);

}  // namespace tare::core
