// Reading requests: see request.h.
#include "core/launcher/request.h"

#include <charconv>
#include <optional>

namespace tare::core {
namespace {

std::string_view next_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

std::optional<RequestVerb> verb_of(std::string_view word) {
  if (word == "pause") return RequestVerb::Pause;
  if (word == "resume") return RequestVerb::Resume;
  if (word == "snapshot") return RequestVerb::Snapshot;
  if (word == "figures") return RequestVerb::Figures;
  return std::nullopt;
}

}  // namespace

Result<Request> parse_request(std::string_view text) {
  const std::string_view verb_word = next_word(text);
  const std::string_view whom = next_word(text);
  const std::optional<RequestVerb> verb = verb_of(verb_word);
  if (!verb) return Error{ErrorKind::Usage, "there is no request '" + std::string(verb_word) + "'"};
  Request request{*verb, Request::Whom::Process, 0, std::string(text.substr(0, Request::kMostNameBytes))};
  if (whom == "all" && (*verb == RequestVerb::Pause || *verb == RequestVerb::Resume)) {
    request.whom = Request::Whom::All;
    return request;
  }
  if (whom == "largest" && *verb == RequestVerb::Figures) {
    request.whom = Request::Whom::Largest;
    return request;
  }
  const char* const end = whom.data() + whom.size();
  const auto [last, error] = std::from_chars(whom.data(), end, request.pid);
  if (error != std::errc{} || last != end || request.pid <= 0) {
    return Error{ErrorKind::Usage, "'" + std::string(whom) + "' is no process"};
  }
  return request;
}

}  // namespace tare::core
