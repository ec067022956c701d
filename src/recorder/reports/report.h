// The program's own reports through tare/reporter.h, written into the spool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/events/record.h"

namespace tare::recorder {

enum class ReportTime : std::uint8_t { InRound, OnAlloc };

// The live block at `address` belongs to `path`.
void record_report(const StartState& start, std::uint64_t address, const char* path, ReportTime time);
void record_clear_reports(const StartState& start);

// A pool's handle is its number and the process it was made in: in a forked child it names nothing. 0 is none.
std::uint64_t record_pool_create(const StartState& start, const char* name);
void record_pool_memory(const StartState& start, std::uint64_t pool, std::uint64_t address, std::uint64_t bytes);
void record_pool_alloc(const StartState& start, std::uint64_t pool, std::uint64_t address, std::uint64_t bytes);
// PoolShrink, PoolFree, PoolReset.
void record_pool_note(const StartState& start, std::uint64_t pool, trace::Op op, std::uint64_t address);
// The block at `address` is one whose owners are counted.
enum class HolderCount : std::uint8_t { One, Several };
void record_holders(const StartState& start, std::uint64_t address, HolderCount count);
// The bytes that the program states for the blocks reported under `path`.
void record_amount(const StartState& start, const char* path, std::uint64_t bytes);
// The launcher takes a snapshot, and stores it under that name.
void record_snapshot(const StartState& start, const char* name);
void record_pool_destroy(const StartState& start, std::uint64_t pool);

// For pools that the recorder follows itself (foreign/pool_call.h). A number is in use by one pool at a time.
bool take_pool_number(std::uint32_t number);
void give_pool_number_back(std::uint32_t number);
// Between enter() and leave(). Number 0: readers find the pool of a freed or resized block, see FORMAT.md.
void write_pool_created(Thread* thread, std::uint32_t number, const char* name);
void write_pool_note(Thread* thread, trace::Op op, std::uint32_t number, std::uint64_t address);
void write_pool_block(Thread* thread, const StartState& start, std::uint32_t number, std::uint64_t address,
                      std::uint64_t bytes);

}  // namespace tare::recorder
