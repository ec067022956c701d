// Memory that the kernel and the program share: faults that a thread of the program serves, and a ring of requests.
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "operations.h"
#include "run.h"

namespace dangerous {
namespace {

struct Faults {
  int descriptor;
  unsigned pages;
};

void* answer_faults(void* argument) {
  const auto& faults = *static_cast<Faults*>(argument);
  for (unsigned i = 0; i < faults.pages; ++i) {
    free(malloc(99));
    uffd_msg message;
    if (read(faults.descriptor, &message, sizeof message) != sizeof message) return nullptr;
    uffdio_zeropage zero = {};
    zero.range = {message.arg.pagefault.address & ~(kPageBytes - 1), kPageBytes};
    if (ioctl(faults.descriptor, UFFDIO_ZEROPAGE, &zero) != 0) return nullptr;
  }
  return nullptr;
}

}  // namespace

void serve_faults(Run& run, unsigned value) {
  const ProcessUse use;
  Faults faults = {static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC)), 1 + value % 4};
  uffdio_api api = {UFFD_API, 0, 0};
  if (faults.descriptor < 0 || ioctl(faults.descriptor, UFFDIO_API, &api) != 0) return note(run, errno);
  const size_t size_bytes = faults.pages * kPageBytes;
  void* const region = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uffdio_register missing = {};
  missing.range = {reinterpret_cast<uint64_t>(region), size_bytes};
  missing.mode = UFFDIO_REGISTER_MODE_MISSING;
  const bool is_registered = ioctl(faults.descriptor, UFFDIO_REGISTER, &missing) == 0;
  note(run, is_registered);
  pthread_t thread;
  if (is_registered && pthread_create(&thread, nullptr, answer_faults, &faults) == 0) {
    for (unsigned i = 0; i < faults.pages; ++i)
      note(run, static_cast<int>(static_cast<volatile char*>(region)[i * kPageBytes]));
    pthread_join(thread, nullptr);
  }
  munmap(region, size_bytes);
  close(faults.descriptor);
}

void use_a_ring(Run& run, unsigned value) {
  const ProcessUse use;
  io_uring_params parameters = {};
  const auto ring = static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters));
  if (ring < 0) return note(run, errno);
  const size_t ring_bytes = parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe);
  const size_t entry_bytes = parameters.sq_entries * sizeof(io_uring_sqe);
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  auto* const queues = static_cast<char*>(mmap(nullptr, ring_bytes, kAccess, MAP_SHARED, ring, IORING_OFF_SQ_RING));
  auto* const entries =
      static_cast<io_uring_sqe*>(mmap(nullptr, entry_bytes, kAccess, MAP_SHARED, ring, IORING_OFF_SQES));
  note(run, queues != MAP_FAILED && entries != MAP_FAILED);
  entries[0] = {};
  entries[0].opcode = IORING_OP_NOP;
  entries[0].user_data = value;
  reinterpret_cast<unsigned*>(queues + parameters.sq_off.array)[0] = 0;
  __atomic_store_n(reinterpret_cast<unsigned*>(queues + parameters.sq_off.tail), 1u, __ATOMIC_RELEASE);
  note(run, syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0));
  const auto* const done = reinterpret_cast<const io_uring_cqe*>(queues + parameters.cq_off.cqes);
  note(run, static_cast<uint64_t>(done->user_data));
  free(malloc(98));
  munmap(queues, ring_bytes);
  munmap(entries, entry_bytes);
  close(ring);
}

}  // namespace dangerous
