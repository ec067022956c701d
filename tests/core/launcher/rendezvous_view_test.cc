// Finding a recorder's rendezvous in bytes, and reading it only where it is one.
#include "core/launcher/rendezvous_view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tare::core {
namespace {

using trace::RecorderState;
using trace::RecorderWish;
using trace::Rendezvous;

// 1,000 bytes of other data, and a rendezvous behind them.
std::vector<char> data_with(std::uint32_t version, std::uint32_t wish, std::uint32_t state) {
  std::vector<char> data(1000 + sizeof(Rendezvous), 'T');
  char* const at = data.data() + 1000;
  const auto put = [&](std::size_t offset, auto value) { std::memcpy(at + offset, &value, sizeof value); };
  std::memcpy(at, trace::kRendezvousMagic, sizeof trace::kRendezvousMagic);
  put(offsetof(Rendezvous, version), version);
  put(offsetof(Rendezvous, struct_bytes), static_cast<std::uint32_t>(sizeof(Rendezvous)));
  put(offsetof(Rendezvous, wish), wish);
  put(offsetof(Rendezvous, state), state);
  put(offsetof(Rendezvous, alive_word), std::uint64_t{0x1234});
  put(offsetof(Rendezvous, orders), std::uint32_t{7});
  put(offsetof(Rendezvous, take_slots), std::uint64_t{0x5678});
  put(offsetof(Rendezvous, slots), std::uint64_t{0x9abc});
  put(offsetof(Rendezvous, slot_count), std::uint64_t{3});
  put(offsetof(Rendezvous, admit_filter), std::uint64_t{0xdef0});
  std::memcpy(at + offsetof(Rendezvous, directory), "/dev/shm/tare-x", sizeof "/dev/shm/tare-x");
  return data;
}

TEST(RendezvousView, IsFoundAndRead) {
  const std::vector<char> data = data_with(trace::kRendezvousVersion, 1, 2);
  ASSERT_EQ(find_rendezvous(data), 1000u);
  const auto facts = read_rendezvous(std::span(data).subspan(1000));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->wish, RecorderWish::Awake);
  EXPECT_EQ(facts->state, RecorderState::Recording);
  EXPECT_EQ(facts->alive_word, 0x1234u);
  EXPECT_EQ(facts->orders, 7u);
  EXPECT_EQ(facts->directory, "/dev/shm/tare-x");
  EXPECT_EQ(facts->take_slots, 0x5678u);
  EXPECT_EQ(facts->slots, 0x9abcu);
  EXPECT_EQ(facts->slot_count, 3u);
  EXPECT_EQ(facts->admit_filter, 0xdef0u);
}

TEST(RendezvousView, APathThatDoesNotEndIsCutOff) {
  std::vector<char> data = data_with(trace::kRendezvousVersion, 1, 2);
  std::memset(data.data() + 1000 + offsetof(Rendezvous, directory), 'a', sizeof(Rendezvous::directory));
  const auto facts = read_rendezvous(std::span(data).subspan(1000));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->directory, std::string(sizeof(Rendezvous::directory), 'a'));
}

TEST(RendezvousView, CutOffItIsNone) {
  std::vector<char> data = data_with(trace::kRendezvousVersion, 1, 2);
  data.pop_back();
  EXPECT_FALSE(find_rendezvous(data));
  EXPECT_FALSE(read_rendezvous(std::span(data).subspan(1000)));
  EXPECT_FALSE(find_rendezvous({}));
}

TEST(RendezvousView, OtherVersionsAndNonsenseAreRefused) {
  for (const auto& data : {data_with(trace::kRendezvousVersion + 1, 1, 2), data_with(trace::kRendezvousVersion, 4, 2),
                           data_with(trace::kRendezvousVersion, 1, 4)}) {
    EXPECT_FALSE(read_rendezvous(std::span(data).subspan(1000)));
  }
}

}  // namespace
}  // namespace tare::core
