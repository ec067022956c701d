// Small traces with known contents: the worked example of FORMAT.md, the golden files, and seeds for the fuzzers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/file/trace_writer.h"
#include "trace/model/event_buffer.h"

namespace tare::test {

// One process, one module, two allocations at one place, one free.
void write_example_trace(const std::string& path);

// Two threads, every kind of event and every entry point, weights, alignments, free stacks, several dictionary records.
void write_rich_trace(const std::string& path);

// The example, in which its blocks were looked into twice: moments_of_example() after its second event, and at its end.
void write_observed_trace(const std::string& path);
std::vector<trace::Moment> moments_of_example();

// The second segment of three: it begins with live_in_segment(), of which its first event frees a block.
void write_segment_trace(const std::string& path);
trace::LiveSet live_in_segment();

// A trace of what a spool holds, as the launcher writes it; only the first `chunks` chunks, and the end record or not.
enum class Ending { End, NoEnd };
void write_trace_of_spool(const std::string& spool_path, const std::string& path, std::size_t chunks, Ending ending);

std::vector<std::uint8_t> read_file(const std::string& path);
void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes);

}  // namespace tare::test
