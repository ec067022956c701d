// A spool with everything that a program can say through tare/reporter.h.
#pragma once

#include <string>

namespace tare::test {

// One thread, stamps from 1,000,100 in steps of 100, all stacks the rows {0, 1}:
//   alloc 0x1000 (32 -> 40), report it as "explicit/a" on alloc, report 0x2000 as "explicit/b", clear reports,
//   pool 7 "cells": grow 0x10000 by 4096, alloc 64 at 0x10000 and 0x10040, free 0x10000, reset, shrink, destroy;
//   report 0x1000 as "explicit/a" (said in another place of the string pool).
void write_noted_spool(const std::string& path);

}  // namespace tare::test
