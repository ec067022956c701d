// A container: the traces of a recording's short-lived processes in one file, F.short. FORMAT.md has its grammar.
//
// Complete traces lie one after the other, each behind a record with its name. A directory at the end closes the file;
// where it's missing, because the launcher was killed, the members are found one by one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/byte_stream.h"
#include "trace/base/result.h"
#include "trace/file/seen_names.h"

namespace tare::trace {

inline constexpr char kContainerMagic[8] = {'T', 'A', 'R', 'E', 'C', 'O', 'N', '\n'};
inline constexpr std::uint32_t kContainerVersion = 1;
inline constexpr std::string_view kContainerSuffix = ".short";

struct ContainerMember {
  std::string name;          // letters, digits and dots
  std::uint64_t offset = 0;  // of the trace in the file
  std::uint64_t bytes = 0;
  // Of a forked child: the present name of its parent's trace; empty: as in its own End record.
  std::string parent_trace;
};

struct Container {
  std::vector<ContainerMember> members;  // in file order
  std::string spool_folder;              // where the launcher had the spools of processes that lived
  bool finished = false;                 // the directory closes it
  std::optional<Error> damage;           // the error that ended the search for members, if not the end of the file
};

// Errors: NotATrace, NewerVersion, Io; Corrupt if even the beginning of the file can't be read.
Result<Container> read_container(const std::string& path);

// Is this the path of a file that begins as a container does?
bool is_container(const std::string& path);

// Where a trace lies: a file of its own, or a part of a container.
struct TracePlace {
  std::string file;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> bytes;  // absent: the whole file
  std::string parent_trace;            // as ContainerMember's
};

// "F.short:NAME": the two names where such a container exists and no file is called so.
struct MemberPath {
  std::string container;
  std::string name;
};
std::optional<MemberPath> member_path(const std::string& path);

// Of a trace, by its path or by that of a member. An error only where a container lacks the member, or can't be read.
Result<TracePlace> place_of_trace(const std::string& path);

// After its first failed write it stays failed. Its memory is bounded: the latest members are kept as they are, of all
// others their directory entries of some 12 bytes, up to 16 MiB, and of a million names their hashes.
class ContainerWriter {
 public:
  // Creates or overwrites `path`.
  static Result<ContainerWriter> create(const std::string& path, const std::string& spool_folder);
  ContainerWriter(ContainerWriter&& other) noexcept;
  ContainerWriter& operator=(ContainerWriter&& other) noexcept;
  ~ContainerWriter();

  // Appends a finished trace, and returns its name: `name`, or `name`.N if that is taken. The file holds it when this
  // returns ok.
  Result<std::string> append(const std::string& name, std::span<const std::uint8_t> trace);
  // The parent's trace of member `name` has got another name. Has an effect for the latest 4,096 members.
  void set_parent(const std::string& name, const std::string& parent_trace);
  // Writes the directory, unless it would have more than 16 MiB: readers then find the members one by one.
  Status finish();

  const std::string& path() const { return path_; }
  std::size_t members() const { return count_; }
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  ContainerWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status write(std::span<const std::uint8_t> bytes);
  std::string free_name(const std::string& name);
  void settle_oldest();

  std::string path_;
  int fd_ = -1;
  std::uint64_t file_bytes_ = 0;
  std::size_t count_ = 0;
  std::deque<ContainerMember> latest_;
  ByteWriter entries_;             // of the directory, for the members before those
  std::uint64_t entries_end_ = 0;  // of the last such member in the file
  bool has_directory_ = true;      // false: it grew too large
  SeenNames seen_;
  std::optional<Error> failure_;
};

}  // namespace tare::trace
