// Writes the seeds of the trace fuzzers: make_trace_seeds CORPUS_FOLDER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "support/content_spool.h"
#include "support/noted_spool.h"
#include "support/spool_script.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/base/byte_stream.h"
#include "trace/file/container.h"
#include "trace/file/event_block.h"
#include "trace/file/record.h"
#include "trace/file/trace_reader.h"
#include "trace/spool/spool_file.h"

namespace {

// What spool_file.cc puts together again: the begin of each region, without the zeros behind it.
std::vector<std::uint8_t> pieces_of(const std::string& spool) {
  using namespace tare::trace;
  constexpr std::uint64_t kRegions[] = {0, kStrings, kModules, kRows, kControls, kChunks, kHeadPayloads};
  std::vector<std::uint8_t> pieces;
  std::ifstream file(spool, std::ios::binary);
  for (std::uint8_t region = 0; region < std::size(kRegions); ++region) {
    const bool has_events = kRegions[region] == kChunks || kRegions[region] == kHeadPayloads;
    std::vector<char> bytes(region == 0 ? kHeadPayloads : has_events ? 4096 : 8192);
    file.seekg(static_cast<std::streamoff>(kRegions[region]));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    file.clear();
    while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
    bytes.resize(std::max<std::size_t>(bytes.size(), region == 0 ? 4096 : 0));
    const std::uint8_t header[] = {
        0, 0, 0, region, static_cast<std::uint8_t>(bytes.size()), static_cast<std::uint8_t>(bytes.size() >> 8)};
    pieces.insert(pieces.end(), std::begin(header), std::end(header));
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  }
  return pieces;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tare;
  if (argc < 2) return 2;
  const std::string corpus = argv[1];
  for (const char* name : {"trace_reader", "spool_decode", "spool_file", "event_block", "container"})
    std::filesystem::create_directories(corpus + "/" + name);
  test::TempDir dir;
  const auto put = [&](const std::string& name, std::vector<std::uint8_t> bytes, int first) {
    if (first >= 0) bytes.insert(bytes.begin(), static_cast<std::uint8_t>(first));
    test::write_file(corpus + "/" + name, bytes);
  };
  test::write_example_trace(dir / "example");
  test::write_rich_trace(dir / "rich");
  test::write_observed_trace(dir / "observed");
  test::write_segment_trace(dir / "segment");
  {
    test::SpoolBuilder spool(dir / "spool");
    test::play({.threads = 2, .calls = 300, .stacks = 9, .depth = 5}, spool);
  }
  test::write_trace_of_spool(dir / "spool", dir / "script", 100, test::Ending::End);
  test::write_noted_spool(dir / "noted-spool");
  test::write_trace_of_spool(dir / "noted-spool", dir / "noted", 100, test::Ending::End);
  test::write_content_spool(dir / "content-spool");
  test::write_trace_of_spool(dir / "content-spool", dir / "contents", 100, test::Ending::End);
  for (const char* name : {"example", "rich", "observed", "segment", "script", "noted", "contents"}) {
    const std::vector<std::uint8_t> bytes = test::read_file(dir / name);
    put("trace_reader/" + std::string(name), bytes, 1);
    put("trace_reader/" + std::string(name) + "-as-it-is", bytes, 0);
    // Every block of it for the block decoder.
    int block = 0;
    for (std::size_t at = trace::kFileHeaderBytes; at < bytes.size();) {
      trace::RecordHeader header;
      std::memcpy(&header, bytes.data() + at, sizeof(header));
      const auto payload = bytes.begin() + static_cast<std::ptrdiff_t>(at + trace::kRecordHeaderBytes);
      if (header.type == static_cast<std::uint16_t>(trace::RecordType::Events)) {
        put("event_block/" + std::string(name) + std::to_string(block++), {payload, payload + header.length}, -1);
      }
      at += trace::kRecordHeaderBytes + header.length;
    }
  }
  auto container = trace::ContainerWriter::create(dir / "container", "/dev/shm/tare-abcdef");
  if (!container) return 1;
  for (const char* name : {"example", "observed", "example"}) {
    if (!container->append("42", test::read_file(dir / name))) return 1;
  }
  put("container/unfinished", test::read_file(dir / "container"), 1);
  container->set_parent("42", "t.tare");
  if (!container->finish()) return 1;
  put("container/finished", test::read_file(dir / "container"), 1);
  put("container/finished-as-it-is", test::read_file(dir / "container"), 0);
  for (const auto& [name, file] :
       {std::pair("script", "spool"), std::pair("noted", "noted-spool"), std::pair("contents", "content-spool")}) {
    const auto spool = trace::SpoolFile::open(dir / file);
    if (!spool) return 1;
    put("spool_file/" + std::string(name), pieces_of(dir / file), -1);
    const auto chunks = spool->chunks(*spool->counts());
    for (const trace::ChunkFacts& chunk : *chunks) {
      std::vector<std::uint64_t> words;
      if (!spool->read_words(chunk.chunk, 0, std::min<std::uint64_t>(128, chunk.committed / 8), words)) return 1;
      const auto* data = reinterpret_cast<const std::uint8_t*>(words.data());
      put("spool_decode/" + std::string(name) + std::to_string(chunk.chunk), {data, data + words.size() * 8}, 64);
    }
  }
  return 0;
}
