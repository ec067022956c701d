// Files cut short under a mapping: zeros and a flag in place of SIGBUS, and other faults stay faults.
#include "trace/base/guarded_mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "support/temp_dir.h"

namespace tare::test {
namespace {

using trace::GuardedMapping;

constexpr std::size_t kPage = 4096;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {
    const std::vector<char> bytes(4 * kPage, 'x');
    EXPECT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  ~OpenFile() { ::close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

char at(const GuardedMapping& mapping, std::size_t offset) {
  return static_cast<const volatile char*>(mapping.data())[offset];
}

TEST(GuardedMapping, ReadsZerosWhereTheFileWasCut) {
  TempDir dir;
  const OpenFile file(dir / "a");
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    ASSERT_EQ(::ftruncate(file.fd(), 4 * kPage), 0);
    const GuardedMapping mapping(4 * kPage, PROT_READ, flags, file.fd(), 0);
    const GuardedMapping other(kPage, PROT_READ | PROT_WRITE, flags, file.fd(), 0);
    ASSERT_NE(mapping.data(), nullptr);
    static_cast<volatile char*>(other.data())[0] = 'x';
    EXPECT_EQ(at(mapping, 0), 'x');
    ASSERT_EQ(::ftruncate(file.fd(), kPage), 0);
    EXPECT_FALSE(mapping.is_cut());
    EXPECT_EQ(at(mapping, 2 * kPage + 5), 0);
    EXPECT_TRUE(mapping.is_cut());
    EXPECT_EQ(at(mapping, 0), 'x');
    EXPECT_FALSE(other.is_cut());
    ASSERT_EQ(::pwrite(file.fd(), "x", 1, 0), 1);
  }
}

TEST(GuardedMapping, MovesWithItsFlag) {
  TempDir dir;
  const OpenFile file(dir / "a");
  std::vector<GuardedMapping> mappings;
  for (int i = 0; i < 20; ++i) mappings.emplace_back(4 * kPage, PROT_READ, MAP_SHARED, file.fd(), 0);
  ASSERT_EQ(::ftruncate(file.fd(), 0), 0);
  EXPECT_EQ(at(mappings[7], 0), 0);
  for (std::size_t i = 0; i < mappings.size(); ++i) EXPECT_EQ(mappings[i].is_cut(), i == 7);
  const GuardedMapping moved = std::move(mappings[7]);
  EXPECT_TRUE(moved.is_cut());
  EXPECT_EQ(GuardedMapping(1 << 20, PROT_READ, MAP_SHARED, -1, 0).data(), nullptr);
}

// The address sanitizer has a handler of its own, which reports the signal and ends the process.
bool is_ended_by_sigbus(int status) {
#ifdef __SANITIZE_ADDRESS__
  if (testing::ExitedWithCode(1)(status)) return true;
#endif
  return testing::KilledBySignal(SIGBUS)(status);
}

TEST(GuardedMappingDeathTest, OtherFaultsEndTheProcess) {
  TempDir dir;
  const OpenFile file(dir / "a");
  const GuardedMapping guarded(kPage, PROT_READ, MAP_SHARED, file.fd(), 0);
  void* const plain = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.fd(), 0);
  ASSERT_NE(plain, MAP_FAILED);
  EXPECT_EXIT(
      {
        ::ftruncate(file.fd(), 0) == 0 ? static_cast<void>(*static_cast<volatile char*>(plain)) : std::exit(2);
        std::exit(0);
      },
      is_ended_by_sigbus, "");
  EXPECT_EXIT(::raise(SIGBUS), is_ended_by_sigbus, "");
  ::munmap(plain, kPage);
}

}  // namespace
}  // namespace tare::test
