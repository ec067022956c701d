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
#include "core/drain/early_events.h"
#include "core/drain/finished_trace.h"
#include "core/drain/fused_replay.h"
#include "core/drain/held_chunks.h"
#include "core/drain/live_spool.h"
#include "core/drain/reading_schedule.h"
#include "core/drain/recording_outcome.h"
#include "core/drain/segments/segment_cut.h"
#include "core/drain/segments/segment_files.h"
#include "core/drain/snapshot_schedule.h"
#include "core/snapshot/observer.h"
#include "trace/file/trace_writer.h"
#include "trace/open/block_packer.h"
#include "trace/spool/spool_decoder.h"

namespace tare::core {

enum class DrainDepth : std::uint8_t {
  Usual,       // full chunks; of programs with threads also open ones, which the merge needs
  Everything,  // open chunks too, and all of it into the file
};

struct DrainCounts {
  std::uint64_t chunks = 0;  // full ones that were decoded
  std::uint64_t events = 0;
};

// Facts of the launch that a snapshot needs.
struct SnapshotFacts {
  std::string recorder_library;
  std::string spool_folder;
};

enum class Importance : std::uint8_t { Command, Other };  // the process that the user started, or one of its helpers

// Where a trace begins. In memory it stays while its process is young and has filled few chunks, which are kept
// meanwhile: where the launcher is killed, the spool has all of it.
enum class FirstPlace : std::uint8_t { File, Memory };

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
    trace_path_ = trace_path;
    if (writer_) writer_->renamed(trace_path);
    segments_.rename_all(trace_path);
  }
  // Called before a forked child's first segment ends, which needs its parent's trace up to the fork. False: not yet.
  void set_parent_writer(std::function<bool(ImageRecording&)> is_written) {
    parent_is_written_ = std::move(is_written);
  }
  // All that was stamped until then is in this image's file, or about to get there.
  bool has_written_until(std::uint64_t stamp);

  // To be called at even intervals: of the chunks that weren't needed since, most of the memory goes back.
  void trim_spool();
  bool in_memory() const { return writer_ && writer_->is_in_memory(); }
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
  // Reads the resident bytes of each mapping, if a reading is due. Returns the time at which the next one is due.
  std::uint64_t watch_memory(const SnapshotFacts& facts, ReadingBudget& budget);
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
  bool peak_is_due() const;

  // The process is over, or has become another image: takes the rest and closes the trace. Then the spool may be
  // deleted.
  void finish(std::optional<int> wait_status, std::uint64_t peak_rss_bytes);
  // After finish(): stores the summary in the cache of the trace, if the merge during the recording was sound.
  void summarize(LaunchOutcome& outcome, Importance importance);
  // After that, when no program runs any more: replays the trace for its summary, where it wasn't. That takes a second
  // per 10 million events, in which others' spools would fill up.
  void summarize_from_file(LaunchOutcome& outcome);
  // After finish(): the parent's trace got its last name. False: that is the one written. In a container it's the
  // directory that has it.
  bool rename_parent(const std::string& parent_trace);
  bool is_member() const { return finished_.is_member(); }
  bool finished() const { return !spool_; }
  bool unheard() const { return spool_ && spool_->unheard(); }  // its program fills chunks without waking us
  bool summarized() const { return summary_ == Summary::Stored; }

  const trace::ProcessInfo& info() const { return record_.info; }
  trace::ProcessRecord& record() { return record_; }
  const std::string& spool_path() const { return record_.spool_path; }
  std::string spool_name() const { return record_.spool_path.substr(record_.spool_path.rfind('/') + 1); }
  const std::string& trace_path() const { return trace_path_; }
  std::uint64_t calls() const { return calls_; }
  std::uint64_t file_bytes() const {
    return cut_.closed_bytes() + (writer_ ? writer_->file_bytes() : finished_.file_bytes());
  }
  std::size_t earlier_segments() const { return segments_.count(); }  // that still exist
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Chunk {
    std::uint64_t serial;  // thread_chunk
    std::uint32_t index;
  };
  struct Held {  // a chunk
    std::uint32_t index;
    std::uint64_t spool_events;  // of the thread, up to its end
  };
  struct NextSegment {
    trace::Segment segment;
    trace::LiveSet live;
    trace::ClockPair begin{};
  };
  struct Stream {  // one thread
    trace::BlockPacker packer;
    std::vector<Chunk> queue;  // seen, not yet decoded to their end; ascending
    std::vector<Held> held;    // decoded; returned when their events are in the file
    std::uint64_t next_serial = 0;
    bool in_chunk = false;  // queue.front() was begun
    bool damaged = false;   // the rest of queue.front() can't be decoded
    bool idle = false;      // wasn't inside a hook when its chunk was read
    bool over = false;      // ThreadEnd was its last event
    std::uint32_t tid = 0;  // in the process's own numbers, of its last chunk
    // Its last chunk ended inside a hook: until its next one is seen, older stamps than that one's may come. 0: no.
    std::uint64_t waits_since_ns = 0;
    std::uint64_t packed_stamp = 0;  // of its last event in the file
  };

  enum class Summary : std::uint8_t { None, Wanted, FromFile, Stored };
  enum class Once : std::uint32_t { Cut = 1, LargeHead = 2, FullDisk = 4 };  // warnings that an image has at most once

  ImageRecording(LiveSpool spool, trace::EventBlockEncoder& encoder);
  bool is_first(Once warning);
  void find_chunks();
  // False: the stream waits for more.
  bool decode_front(Stream& stream, DrainDepth depth, DrainCounts& counts);
  void begin_chunk(Stream& stream, const trace::ChunkControl& control);
  void pack(Stream& stream);
  void pack_front(Stream& stream, std::size_t count, std::uint64_t spool_events);
  void pack_until(Stream& stream, std::uint64_t stamp);
  std::size_t events_before(const Stream& stream, std::uint64_t stamp) const;
  std::uint64_t bytes_until(std::uint64_t stamp) const;  // of the file, with all events before the stamp
  void find_boundary(std::uint64_t settled);
  bool is_held_back() const { return cut_.is_held_back(chunks_.waiting()); }
  bool boundary_is_due();
  void make_replay();
  void close_segment();
  Result<NextSegment> end_segment();
  void begin_segment(NextSegment next);
  bool put_counters();
  void put_last_names();
  bool make_room();
  bool is_waiting_for_chunk(const Stream& stream) const;
  void advance_merge(std::uint64_t now_stamp);  // `now_stamp`: before find_chunks()
  void write_out();
  void hand_to_replay(const Stream& stream, std::span<const trace::Event> events);
  void begin_replay();
  void begin_trace(FirstPlace place);
  bool may_stay_in_memory() const;
  void discard();
  // True if the spool's file was cut short by another process, so that its contents are invalid. Warns once.
  bool is_cut();
  Status drain_frozen(FrozenProcess& process);
  void put_moment(const trace::Moment& moment);
  void write_snapshots();
  ObservedProcess observed_process(const SnapshotFacts& facts) const;
  std::uint64_t stamp_now() const;

  std::optional<LiveSpool> spool_;  // until finish()
  pid_t process_ = 0;               // 0: gone, or out of sight
  std::string trace_path_;
  trace::EventBlockEncoder& encoder_;
  std::optional<trace::TraceWriter> writer_;
  trace::ProcessRecord record_;
  trace::Dictionary dictionary_;
  std::unique_ptr<trace::SpoolDecoder> decoder_;  // until finish()
  std::unique_ptr<FusedReplay> replay_;           // null: no summary is computed
  EarlyEvents early_;                             // for replay_, while the process is young
  Summary summary_ = Summary::None;
  std::vector<Stream> streams_;  // by thread
  HeldChunks chunks_;
  std::uint64_t calls_ = 0;  // in the trace: successful ones, a realloc being one
  std::uint32_t used_shapes_ = 0;
  std::vector<std::uint64_t> words_;
  ClockPairs clock_pairs_;
  bool gaps_are_final_ = false;  // no more chunks will come: missing ones are lost
  bool something_packed_ = false;
  FinishedTrace finished_;
  std::uint64_t begin_ns_ = 0;  // when its spool was found
  SnapshotSchedule snapshots_;
  ReadingSchedule readings_;
  Observer observer_;
  std::optional<trace::Moment> peak_candidate_;  // written when no other can come before it
  SegmentCut cut_;
  SegmentFiles segments_;
  trace::ProcessInfo counted_;  // the spool's counters when the segment began
  bool knows_earlier_ = false;  // the blocks older than the segment's first event
  std::function<bool(ImageRecording&)> parent_is_written_;
  std::optional<Error> failure_;
  std::vector<std::string> warnings_;
  std::uint32_t warned_ = 0;  // set of Once
};

}  // namespace tare::core
