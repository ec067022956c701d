// Streams, buffers and bytes account for their memory to a registry: each block once, with its slop.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <string_view>

#include "tare/buffer.h"
#include "tare/bytes.h"
#include "tare/memory_reporter.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

std::uint64_t amount_of(const MemorySnapshot& snapshot, std::string_view path) {
  return static_cast<std::uint64_t>(snapshot.amount(path).value_or(0));
}

TEST(Reporting, EachBlockOnceWithItsSlop) {
  TextStream stream;
  stream.append(100, 'x');
  Buffer<int> buffer;
  ASSERT_TRUE(buffer.resize(1000));
  const Bytes text = Bytes::copy_of_text("0123456789");
  const Bytes apart = Bytes::adopt_malloced(std::malloc(5000), 5000);
  const Bytes shared = text;  // NOLINT(performance-unnecessary-copy-initialization): counted below

  ReporterRegistry registry;
  const ReporterHandle handle = registry.add("explicit/blocks", [&](ReportSink& sink) {
    sink.heap("stream", stream.size_of_excluding_this(sink.size_of("stream")), "");
    sink.heap("buffer", buffer.size_of_excluding_this(sink.size_of("buffer")), "");
    sink.heap("text", text.size_of_excluding_this(sink.size_of("text")), "");
    sink.heap("text", shared.size_of_excluding_this_if_unshared(sink.size_of("text")), "");
    sink.heap("apart", apart.size_of_excluding_this_if_unshared(sink.size_of("apart")), "");
  });
  const MemorySnapshot snapshot = registry.collect();
  EXPECT_EQ(amount_of(snapshot, "explicit/blocks/stream"),
            malloc_usable_size(const_cast<char*>(stream.data()) - sizeof(SharedHeader)));
  EXPECT_EQ(amount_of(snapshot, "explicit/blocks/buffer"), malloc_usable_size(buffer.data()));
  EXPECT_EQ(amount_of(snapshot, "explicit/blocks/text"), malloc_usable_size(text.shared_header()));
  EXPECT_GE(amount_of(snapshot, "explicit/blocks/apart"), malloc_usable_size(const_cast<char*>(apart.data())) + 40);
}

}  // namespace
}  // namespace tare
