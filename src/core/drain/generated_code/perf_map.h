// Names of code that a program generates while it runs: the file /tmp/perf-PID.map, which V8, the JVM, .NET, PHP, Ruby,
// Erlang and CPython write for Linux' perf. A line is "START SIZE NAME" with hexadecimal numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/dictionary.h"

namespace tare::core {

struct GeneratedCode {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
  std::string_view name;
};

// None: not a line of such a file.
std::optional<GeneratedCode> parse_perf_map_line(std::string_view line);

// The function, file and line in a name. V8 writes "JS:*parse /srv/app.js:12:9", CPython "py::parse:/srv/app.py". Other
// names are functions as they are.
trace::GivenFrame frame_of_generated(std::string_view name);

// Names rows of a dictionary that belong to no module. Code may replace older code at the same addresses: the last line
// that contains an address names it.
class GeneratedNames {
 public:
  // Rows without a module and without a name.
  explicit GeneratedNames(const trace::Dictionary& dictionary);
  bool empty() const { return rows_.empty(); }

  void add(const GeneratedCode& code);
  // Appends a given frame for each named row. Returns how many.
  std::size_t add_to(trace::Dictionary& dictionary) const;

 private:
  struct Row {
    std::uint64_t address;  // within the call
    trace::RowId row;
  };
  // A name of neighbouring rows. A line takes logarithmic time, however many rows it names and names again.
  struct Named {
    std::size_t end;  // position in rows_
    std::string name;
  };
  std::size_t position_of(std::uint64_t address) const;
  void cut_at(std::size_t position);

  std::vector<Row> rows_;               // by address
  std::map<std::size_t, Named> named_;  // by position in rows_
};

// Why a map or a jitdump isn't used.
enum class PerfMapUse : std::uint8_t {
  Absent,
  Used,
  Foreign,   // another user's, or not a regular file
  Stale,     // written before the process started, by an earlier process of the same number
  TooLarge,  // more than kMaxPerfMapBytes
};
inline constexpr std::uint64_t kMaxPerfMapBytes = std::uint64_t{256} << 20;

// Opens a regular file that the process may have written; -1: `use` has the reason. The parameters as for
// read_perf_map().
int open_perf_file(const std::string& path, std::uint32_t owner, std::uint64_t start_realtime_ns, PerfMapUse& use);

// Reads the map at `path` into `names`. `owner`: the user of the process; root may have written it, too.
// `start_realtime_ns`: when the process started, or earlier.
PerfMapUse read_perf_map(const std::string& path, std::uint32_t owner, std::uint64_t start_realtime_ns,
                         GeneratedNames& names);

}  // namespace tare::core
