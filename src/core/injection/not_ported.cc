// In place of the injector on machines other than x86-64: every running process is refused.
#include "core/injection/injector.h"

#include <string>

namespace tare::core {
namespace {

Error not_ported(pid_t pid) {
  return {ErrorKind::CannotRecord, "the recorder can't be loaded into process " + std::to_string(pid) +
                                       ": tare attach works on x86-64 only; start the program by tare run"};
}

}  // namespace

RemoteThread::RemoteThread(RemoteThread&&) noexcept = default;
RemoteThread::~RemoteThread() = default;

Result<Injector> Injector::begin(pid_t pid) { return not_ported(pid); }

// Nothing calls these without an injector.
Result<std::uint64_t> RemoteThread::call(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {
  return not_ported(pid_);
}
Result<std::uint64_t> Injector::load(const std::string&) { return not_ported(pid_); }
Result<std::uint64_t> Injector::load_copy(const std::string&, const std::string&) { return not_ported(pid_); }
Status Injector::announce_filters(std::uint64_t) { return not_ported(pid_); }

}  // namespace tare::core
