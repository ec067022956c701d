// Why a process runs unrecorded, as one sentence for its user.
#pragma once

#include "recorder/base/text.h"

namespace tare::recorder {

// Beside the kernel's errors: its pages are larger than those that the recorder lays its memory out in. Not ENOTSUP,
// which file systems say.
inline constexpr int kLargerPages = 1 << 16;
// The traces of other processes have used the space that the budget allows.
inline constexpr int kBudgetIsUsed = kLargerPages + 1;

enum class Wanted { Spool, WatchFile };

// `folder` is empty where it wasn't chosen yet.
void describe_refusal(Text& sentence, Wanted wanted, const char* folder, int error);

}  // namespace tare::recorder
