#!/bin/sh
# Prints a regular expression for ctest -E: the tests of the build folder $1 that took more than $2 seconds on average when they
# last ran. Without a record of earlier runs it matches no test.
set -eu
costs="$1/Testing/Temporary/CTestCostData.txt"
[ -f "$costs" ] || { echo '^$'; exit 0; }
# NAME RUNS SECONDS; a line of dashes ends the list
awk -v most="$2" '$1 == "---" { exit } NF == 3 && $3 > most { gsub(/[][().*+?|^$\/\\]/, "\\\\&", $1); names = names "|" $1 }
  END { print names == "" ? "^$" : "^(" substr(names, 2) ")$" }' "$costs"
