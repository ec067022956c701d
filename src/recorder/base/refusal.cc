// The sentence: what can't be made, where, and the reason.
#include "recorder/base/refusal.h"

#include <errno.h>

namespace tare::recorder {

namespace {

const char* reason(Wanted wanted, int error) {
  switch (error) {
    case ENOSPC:
      return "no space left";
    case EDQUOT:
      return "disk quota exceeded";
    case EACCES:
      return "permission denied (after a change of user: run tare as the user that it becomes, or as root)";
    case EROFS:
      return "the file system is read-only";
    case ENOENT:
      return "no such folder";
    case ENOMEM:
      return "no address space left (ulimit -v)";
    case EFBIG:
      return wanted == Wanted::WatchFile ? "files may not be as large as 4 MiB (ulimit -f)"
                                         : "files may not be as large as 121 MiB (ulimit -f)";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    case ENOSYS:
      return "the kernel refuses a call that it needs: it is older than 4.14, or the program is in a sandbox";
    default:
      return nullptr;
  }
}

}  // namespace

void describe_refusal(Text& sentence, Wanted wanted, const char* folder, int error) {
  if (error == kLargerPages) {
    sentence.add("this kernel's pages are larger than 4 KiB, and the recorder needs pages of 4 KiB");
    return;
  }
  if (error == kBudgetIsUsed) {
    sentence.add("the budget's disk space is used up");
    return;
  }
  sentence.add(wanted == Wanted::WatchFile ? "no watch file can be made" : "no spool can be made");
  if (folder[0] != '\0') sentence.add(" in ").add(folder);
  sentence.add(": ");
  if (const char* const known = reason(wanted, error); known != nullptr)
    sentence.add(known);
  else
    sentence.add("error ").add_number(static_cast<std::uint64_t>(error));
}

}  // namespace tare::recorder
