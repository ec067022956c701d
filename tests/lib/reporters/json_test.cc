// A snapshot as JSON: escapes, and bytes that are no text.
#include <gtest/gtest.h>

#include "tare/memory_snapshot.h"

namespace tare {
namespace {

std::string with_path(const std::string& path) {
  MemorySnapshot snapshot;
  snapshot.reports = {{path, ReportKind::Other, ReportUnits::Count, 1, 1, ""}};
  const std::string json = to_json(snapshot);
  const std::string before = "{\"path\": \"";
  const std::size_t at = json.find(before) + before.size();
  return json.substr(at, json.find("\", \"kind\"") - at);
}

TEST(ReportJson, HasEveryField) {
  MemorySnapshot snapshot;
  snapshot.heap_allocated_bytes = 4096;
  snapshot.reports = {{"explicit/a", ReportKind::Heap, ReportUnits::Bytes, 32, 2, "a \"thing\""},
                      {"explicit/b", ReportKind::NonHeap, ReportUnits::Bytes, -1, 1, ""},
                      {"c", ReportKind::Other, ReportUnits::CumulativeCount, 5, 1, ""},
                      {"d", ReportKind::Other, ReportUnits::Percentage, 5000, 1, ""}};
  snapshot.problems = {"one"};
  EXPECT_EQ(to_json(snapshot),
            R"({"version": 1, "heap_allocated_bytes": 4096, "reports": [
  {"path": "explicit/a", "kind": "heap", "units": "bytes", "amount": 32, "reports": 2, "description": "a \"thing\""},
  {"path": "explicit/b", "kind": "non-heap", "units": "bytes", "amount": -1, "reports": 1, "description": ""},
  {"path": "c", "kind": "other", "units": "cumulative-count", "amount": 5, "reports": 1, "description": ""},
  {"path": "d", "kind": "other", "units": "percentage", "amount": 5000, "reports": 1, "description": ""}], "problems": [
  "one"]}
)");
  EXPECT_EQ(to_json({}), "{\"version\": 1, \"heap_allocated_bytes\": null, \"reports\": [], \"problems\": []}\n");
}

TEST(ReportJson, EscapesWhatJsonHasNoLetterFor) {
  EXPECT_EQ(with_path("a\"b\\c"), "a\\\"b\\\\c");
  EXPECT_EQ(with_path("tab\tnul" + std::string(1, '\0') + "esc\x1b"), "tab\\u0009nul\\u0000esc\\u001b");
}

TEST(ReportJson, KeepsUtf8AndMarksWhatIsnt) {
  EXPECT_EQ(with_path("größe/日本/😀"), "größe/日本/😀");
  EXPECT_EQ(with_path("\xff"), "\\ufffd");
  EXPECT_EQ(with_path("a\xc3"), "a\\ufffd");                                 // cut off
  EXPECT_EQ(with_path("\xc0\x80"), "\\ufffd\\ufffd");                        // overlong
  EXPECT_EQ(with_path("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd");             // a surrogate
  EXPECT_EQ(with_path("\xf4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");  // beyond the last
  EXPECT_EQ(with_path("\xe0\x9f\xbf/"), "\\ufffd\\ufffd\\ufffd/");
}

}  // namespace
}  // namespace tare
