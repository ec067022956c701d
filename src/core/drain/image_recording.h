// The recording of one process image: from its spool into its trace, and along the way into its summary.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/drain/clock_pairs.h"
#include "core/drain/image_warnings.h"
#include "core/drain/live_spool.h"
#include "core/drain/live_summary.h"
#include "core/drain/output/trace_output.h"
#include "core/drain/reading_schedule.h"
#include "core/drain/recording_outcome.h"
#include "core/drain/segments/segment_cut.h"
#include "core/drain/segments/segment_files.h"
#include "core/drain/snapshot_schedule.h"
#include "core/drain/thread_streams.h"
#include "core/snapshot/observer.h"
#include "trace/open/block_packer.h"

namespace tare::core {

enum class DrainDepth : std::uint8_t {
  Usual,       // full chunks; of programs with threads also open ones, which the merge needs
  Everything,  // open chunks too, and all of it into the file
};

struct DrainCounts {
  std::uint64_t chunks = 0;  // full ones that were decoded
  std::uint64_t events = 0;
};

// Facts of the launch that a snapshot needs: paths as the program has them.
struct SnapshotFacts {
  std::string recorder_library;
  std::string spool_folder;
};

using RoomOfProcess = std::function<std::optional<std::uint64_t>(pid_t)>;

class ImageRecording {
 public:
  // Starts the trace at `trace_path`. `encoder` is shared by all images. `process`: the number that made the spool, as
  // this process sees it; 0 where it's gone already, or out of sight.
  static Result<std::unique_ptr<ImageRecording>> create(LiveSpool spool, pid_t process, const std::string& trace_path,
                                                        Summarize summarize, trace::EventBlockEncoder& encoder,
                                                        TakeSnapshots snapshots, FirstPlace place,
                                                        const SegmentLimits& limits = {});
  ~ImageRecording();

  // Drains new events. Never fails: if the trace can't be written, chunks are returned all the same, so that the
  // program continues, and failure() has the reason.
  DrainCounts drain(DrainDepth depth);
  const std::optional<Error>& failure() const { return failure_; }

  // The trace has got another name.
  void renamed(const std::string& trace_path) {
    output_.rename(trace_path);
    segments_.files.rename_all(trace_path);
  }
  // Blocks of the trace begin to be written at so many events of a thread, in place of the usual number.
  void set_block_events(std::size_t events) { block_events_ = events; }
  // Called before a forked child's first segment ends, which needs its parent's trace up to the fork. False: not yet.
  void set_parent_writer(std::function<bool(ImageRecording&)> is_written) {
    segments_.parent_is_written = std::move(is_written);
  }
  // All that was stamped until then is in this image's file, or about to get there.
  bool has_written_until(std::uint64_t stamp);

  // To be called at even intervals: of the chunks that weren't needed since, most of the memory goes back.
  void trim_spool();
  bool in_memory() const { return output_.is_in_memory(); }
  // Gives the trace a file, for readers while the process runs.
  void leave_memory();
  // After finish(): the whole trace, if it is short enough for a container. Its file, if there is one, stays.
  std::optional<std::vector<std::uint8_t>> short_trace();
  // It lies in the container under that path, and nowhere else.
  void moved(const std::string& member_path);
  // The container couldn't take it.
  void keep_own_file(std::span<const std::uint8_t> trace);
  // Closes those of its descriptors that are numbered `from` or higher, until they are used again.
  void rest_descriptors(int from);

  // Stops the process, drains all its events, reads its live blocks, and continues it. The recording must be exact, the
  // process running and the replay sound; otherwise the error has the reason. The recording goes on in any case.
  Status take_snapshot(trace::MomentKind kind, const std::string& name, const SnapshotFacts& facts);
  // Reads the resident bytes of each mapping, if a reading is due and `free_bytes` of the process's control group, if
  // it has a limit, leave room for it. Returns the time at which the next one is due.
  std::uint64_t watch_memory(const SnapshotFacts& facts, ReadingBudget& budget, const RoomOfProcess& free_bytes);
  // Before detaching: the same, if there was no reading.
  void read_memory_once(const SnapshotFacts& facts);
  // The program is about to exit and waits for its snapshot.
  bool snapshot_requested() const;
  void acknowledge_snapshot();
  trace::MomentKind requested_kind() const;
  std::string requested_name() const;
  // The program's recorder was paused, or woken again: kept in its spool, and in the trace when that ends.
  void falls_asleep();
  void wakes_up();
  // All that is recorded up to now, as the tables of a finished recording. Empty if no sums are kept during the
  // recording (Summarize::No, forked children, threads whose events are too far apart). Then a reader can replay the
  // trace, which has all events so far.
  std::optional<Tables> tables_so_far();
  // The process goes on unrecorded, and its recorder doesn't touch the spool any more: to be called while it stands
  // still, before finish().
  Status run_out_of_hooks(FrozenProcess& process);
  // The heap is larger than at the last candidate for its peak, by as much as pays for another look.
  bool peak_is_due();

  // The process is over, or has become another image: takes the rest and closes the trace. Then the spool may be
  // deleted.
  void finish(std::optional<int> wait_status, std::uint64_t peak_rss_bytes);
  // After finish(), one after the other: see LiveSummary.
  void summarize(LaunchOutcome& outcome, Importance importance);
  void summarize_from_file(LaunchOutcome& outcome) { summary_.store_from_file(trace_path(), outcome.fresh_tables); }
  // After finish(): the parent's trace got its last name. False: that is the one written. In a container it's the
  // directory that has it.
  bool rename_parent(const std::string& parent_trace);
  bool is_member() const { return output_.is_member(); }
  bool finished() const { return !spool_; }
  // Before finish(): its process exits in order, or becomes another program.
  bool ends_in_order() const;
  // Its process has become another program, which didn't make a spool.
  bool was_replaced() const;
  bool unheard() const { return spool_ && spool_->unheard(); }  // its program fills chunks without waking us
  bool summarized() const { return summary_.is_stored(); }

  const trace::ProcessInfo& info() const { return record_.info; }
  trace::ProcessRecord& record() { return record_; }
  const std::string& spool_path() const { return record_.spool_path; }
  std::string spool_name() const { return record_.spool_path.substr(record_.spool_path.rfind('/') + 1); }
  const std::string& trace_path() const { return output_.path(); }
  std::uint64_t calls() const { return calls_; }
  std::uint64_t waiting_events() const;  // decoded, not yet in the trace
  std::uint64_t file_bytes() const { return segments_.cut.closed_bytes() + output_.file_bytes(); }
  std::size_t earlier_segments() const { return segments_.files.count(); }  // that still exist
  const std::vector<std::string>& warnings() const { return warnings_.all(); }

 private:
  struct NextSegment {
    trace::Segment segment;
    trace::LiveSet live;
    trace::ClockPair begin{};
  };
  struct Segments {
    SegmentCut cut;
    SegmentFiles files;
    trace::ProcessInfo counted;  // the spool's counters when the segment began
    std::function<bool(ImageRecording&)> parent_is_written;
  };
  struct Snapshots {
    SnapshotSchedule schedule;
    Observer observer;
    std::optional<trace::Moment> peak_candidate;  // written when no other can come before it
  };

  ImageRecording(LiveSpool spool, const std::string& trace_path, trace::EventBlockEncoder& encoder, Summarize summarize,
                 trace::ProcessInfo info);
  void fail(const Error& error);
  // False: the stream waits for more.
  bool decode_front(ThreadStream& stream, DrainDepth depth, DrainCounts& counts);
  void begin_chunk(ThreadStream& stream);
  void pack(ThreadStream& stream);
  void pack_front(ThreadStream& stream, std::size_t count, std::uint64_t spool_events);
  void pack_until(ThreadStream& stream, std::uint64_t stamp);
  std::uint64_t bytes_until(std::uint64_t stamp) const;  // of the file, with all events before the stamp
  void find_boundary(std::uint64_t settled);
  bool is_held_back() const { return segments_.cut.is_held_back(streams_->chunks().waiting()); }
  bool boundary_is_due();
  void close_segment();
  Result<NextSegment> end_segment();
  void begin_segment(NextSegment next);
  bool put_counters();
  void put_last_names();
  bool make_room();
  void advance_merge(std::uint64_t now_stamp);  // `now_stamp`: before new chunks are looked for
  void write_out();
  void hand_to_replay(const ThreadStream& stream, std::size_t events);  // the last pending ones
  void begin_replay();
  LiveSummary::Threads expected_threads();
  bool may_stay_in_memory() const;
  std::size_t most_held() const;
  // True if the spool's file was cut short by another process, so that its contents are invalid. Warns once.
  bool is_cut();
  Status drain_frozen(FrozenProcess& process);
  void take_reading(const SnapshotFacts& facts);
  void put_moment(const trace::Moment& moment);
  void write_snapshots();
  ObservedProcess observed_process(const SnapshotFacts& facts) const;
  std::uint64_t stamp_now() const;

  std::optional<LiveSpool> spool_;  // until finish()
  pid_t process_ = 0;               // 0: gone, or out of sight
  std::uint64_t begin_ns_ = 0;      // when its spool was found
  trace::ProcessRecord record_;
  trace::Dictionary dictionary_;
  std::optional<ThreadStreams> streams_;  // until finish()
  ClockPairs clock_pairs_;
  TraceOutput output_;
  LiveSummary summary_;
  Snapshots snapshots_;
  ReadingSchedule readings_;
  Segments segments_;
  std::size_t block_events_ = trace::kBlockEvents;
  std::uint64_t calls_ = 0;      // in the trace: successful ones, a realloc being one
  bool gaps_are_final_ = false;  // no more chunks will come: missing ones are lost
  std::optional<Error> failure_;
  ImageWarnings warnings_;
};

}  // namespace tare::core
