// The programs that have a file of their own.
#pragma once

#include "report.h"

namespace tare::bench {

void pause(Report& report);
void mutate(Report& report);
void hash_set(Report& report);
void session(Report& report);
void fragmented(Report& report);

// Of the process so far.
double process_cpu_s();
std::size_t resident_bytes();  // now
double peak_rss_bytes();

}  // namespace tare::bench
