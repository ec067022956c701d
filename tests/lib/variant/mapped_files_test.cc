// Files read where they are mapped: a compiled database of GSettings (gvdb, which dconf uses too), made by GLib's own
// tool, and a value of some megabytes as OSTree keeps them. docs/variant.md shows both.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tare/variant/view.h"
#include "tare/variant/writer.h"

namespace tare::variant {
namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    void* map = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (map != MAP_FAILED) data_ = static_cast<char*>(map);
    close(descriptor);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  std::string_view bytes() const { return data_ == nullptr ? std::string_view() : std::string_view(data_, size_); }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

std::filesystem::path scratch_folder() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base != nullptr ? base : "/tmp") + "/tare-variant-XXXXXX";
  return mkdtemp(name.data());
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  return at + 4 <= bytes.size() ? format_details::load<std::uint32_t>(bytes.data() + at, format_details::kIsBigEndian)
                                : 0;
}

// A gvdb file's table: a header with a filter and buckets, then items of 24 bytes. Nothing is trusted.
struct GvdbTable {
  std::string_view file;
  std::size_t begin = 0;
  std::size_t end = 0;

  static GvdbTable root(std::string_view file) { return {file, number_at(file, 16), number_at(file, 20)}; }

  std::size_t items() const {
    return begin + 8 + 4 * ((number_at(file, begin) & 0x07FF'FFFF) + number_at(file, begin + 4));
  }
  // The item with this key, whose type is at 14 and place at 16; 0 if there's none.
  std::size_t find(std::string_view key) const {
    for (std::size_t item = items(); item + 24 <= end && end <= file.size(); item += 24) {
      const std::size_t key_begin = number_at(file, item + 8);
      const std::size_t key_size = number_at(file, item + 12) & 0xFFFF;
      if (key_begin <= file.size() && file.substr(key_begin, key_size) == key) return item;
    }
    return 0;
  }
  GvdbTable table(std::string_view key) const {
    const std::size_t item = find(key);
    return item == 0 || file[item + 14] != 'H'
               ? GvdbTable{file}
               : GvdbTable{file, number_at(file, item + 16), number_at(file, item + 20)};
  }
  View value(std::string_view key) const {
    const std::size_t item = find(key);
    if (item == 0 || file[item + 14] != 'v') return {};
    const std::size_t at = number_at(file, item + 16);
    const std::size_t value_end = number_at(file, item + 20);
    if (at > value_end || value_end > file.size()) return {};
    return View("v", file.substr(at, value_end - at), std::endian::little).inside();
  }
};

TEST(MappedFiles, AGvdbDatabase) {
  if (std::system("command -v glib-compile-schemas >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no glib-compile-schemas: tools/bootstrap.sh test installs libglib2.0-dev";
  }
  const std::filesystem::path folder = scratch_folder();
  std::ofstream(folder / "org.tare.test.gschema.xml")
      << R"xml(<schemalist><schema id="org.tare.test" path="/org/tare/test/">
    <key name="names" type="as"><default>['one', 'two']</default></key>
    <key name="size" type="(ii)"><default>(640, 480)</default></key></schema></schemalist>)xml";
  ASSERT_EQ(std::system(("glib-compile-schemas " + folder.string()).c_str()), 0);
  {
    const MappedFile file(folder / "gschemas.compiled");
    ASSERT_EQ(file.bytes().substr(0, 8), "GVariant");
    const GvdbTable schema = GvdbTable::root(file.bytes()).table("org.tare.test");
    // a key's default and what else is known of it, as a tuple
    const View names = schema.value("names");
    EXPECT_EQ(names.child(0).type(), Type("as"));
    EXPECT_EQ(names.child(0).child(1).text(), "two");
    EXPECT_EQ(schema.value("size").child(0).child(0).as_int32(), 640);
    EXPECT_EQ(schema.value("nothing").type(), Type("()"));
  }
  std::filesystem::remove_all(folder);
}

TEST(MappedFiles, AValueOfManyMegabytes) {
  // as a commit's metadata or a summary: entries by name, each with bytes of its own
  const std::filesystem::path folder = scratch_folder();
  const std::vector<std::uint8_t> blob(4096, 7);
  Output out;
  ASSERT_TRUE(Writer<"(a{sv}tay)">::write(
      out,
      [&blob](auto& entries) {
        for (int i = 0; i < 1000; ++i) entries.add("ref/" + std::to_string(i), blob);
      },
      std::uint64_t{5}, blob));
  ASSERT_GT(out.size(), 4'000'000u);
  std::ofstream(folder / "value").write(out.data(), static_cast<std::streamsize>(out.size()));
  {
    const MappedFile file(folder / "value");
    View value("(a{sv}tay)", file.bytes());
    const auto found = value.child(0).lookup("ref/777");
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->array_of<std::uint8_t>().size(), 4096u);
    EXPECT_GE(found->bytes().data(), file.bytes().data());  // it lies in the file
    EXPECT_LT(found->bytes().data(), file.bytes().data() + file.bytes().size());
    EXPECT_EQ(value.child(1).as_uint64(), 5u);
    EXPECT_TRUE(value.validate());
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tare::variant
