// The programs that have a file of their own.
#pragma once

#include "report.h"

namespace tare::bench {

void pause(Report& report);
void mutate(Report& report);
void hash_set(Report& report);

}  // namespace tare::bench
