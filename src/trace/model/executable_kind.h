// Decides for an ELF file if preloading works. The launcher checks its command, and the recorder each program before an
// exec (in the child of a vfork: no allocation, no libc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <elf.h>

namespace tare::trace {

enum class ExecutableKind : std::uint8_t {
  Recordable,
  Other32Bit,
  OtherMachine,
  Static,     // no loader, so nothing is preloaded
  Sanitized,  // needs a sanitizer's library: behind another malloc it ends at once (address) or crashes (thread)
};

#if defined(__x86_64__)
inline constexpr std::uint16_t kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint16_t kThisMachine = EM_AARCH64;
#else
#error "one line per architecture"
#endif

// The one for undefined behaviour has no allocator and is fine. Sanitizers that clang links statically are fine too:
// their malloc comes before any library's.
inline bool is_sanitizer_library(const char* name) {
  for (const char* start : {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan",
                            "libclang_rt.tsan", "libclang_rt.hwasan"}) {
    if (std::strncmp(name, start, std::strlen(start)) == 0) return true;
  }
  return false;
}

// Reads one ELF file through `read_at(buffer, bytes, offset)`, which returns the number of read bytes or a negative
// number. `library`: the sanitizer's, where there is one. Damaged files count as recordable: execve reports the error.
template <typename ReadAt>
class ExecutableProbe {
 public:
  explicit ExecutableProbe(ReadAt read_at) : read_at_(read_at) {}

  ExecutableKind kind() {
    Elf64_Ehdr header{};
    if (!read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return ExecutableKind::Recordable;
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return ExecutableKind::Other32Bit;
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kThisMachine) return ExecutableKind::OtherMachine;
    if (header.e_phentsize < sizeof(Elf64_Phdr)) return ExecutableKind::Recordable;
    bool has_interpreter = false;
    Elf64_Phdr dynamic{};
    each_segment(header, [&](const Elf64_Phdr& segment) {
      if (segment.p_type == PT_INTERP) has_interpreter = true;
      if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    });
    if (needs_sanitizer(header, dynamic)) return ExecutableKind::Sanitized;
    return has_interpreter ? ExecutableKind::Recordable : ExecutableKind::Static;
  }

  const char* library() const { return library_; }  // after Sanitized

 private:
  template <typename T>
  bool read(T& value, std::uint64_t offset) {
    return read_at_(&value, sizeof(value), offset) == static_cast<std::int64_t>(sizeof(value));
  }

  template <typename Visit>
  void each_segment(const Elf64_Ehdr& header, Visit visit) {
    for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!read(segment, header.e_phoff + std::uint64_t{i} * header.e_phentsize)) return;
      visit(segment);
    }
  }

  template <typename Visit>
  void each_entry(const Elf64_Phdr& dynamic, Visit visit) {
    constexpr std::uint64_t kMostEntries = 4096;  // some hundred in the largest programs
    for (std::uint64_t i = 0; i < kMostEntries && (i + 1) * sizeof(Elf64_Dyn) <= dynamic.p_filesz; ++i) {
      Elf64_Dyn entry;
      if (!read(entry, dynamic.p_offset + i * sizeof(entry)) || entry.d_tag == DT_NULL || !visit(entry)) return;
    }
  }

  bool needs_sanitizer(const Elf64_Ehdr& header, const Elf64_Phdr& dynamic) {
    if (dynamic.p_type != PT_DYNAMIC) return false;
    std::uint64_t strings = 0;
    each_entry(dynamic, [&](const Elf64_Dyn& entry) {
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
      return strings == 0;
    });
    std::uint64_t offset = 0;
    each_segment(header, [&](const Elf64_Phdr& segment) {
      if (segment.p_type == PT_LOAD && strings - segment.p_vaddr < segment.p_filesz) {
        offset = segment.p_offset + (strings - segment.p_vaddr);
      }
    });
    if (strings == 0 || offset == 0) return false;
    bool found = false;
    each_entry(dynamic, [&](const Elf64_Dyn& entry) {
      if (entry.d_tag != DT_NEEDED) return true;
      std::memset(library_, 0, sizeof(library_));
      if (read_at_(library_, sizeof(library_) - 1, offset + entry.d_un.d_val) <= 0) return true;
      found = is_sanitizer_library(library_);
      return !found;
    });
    return found;
  }

  ReadAt read_at_;
  char library_[64] = {};
};

}  // namespace tare::trace
