// Reads a file through an io_uring into blocks of the heap: the kernel writes into them while the program does other
// things. Without io_uring it reads itself.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kReads = 64, kBytes = 5000 };

static struct io_uring_params facts;
static char* queues;
static struct io_uring_sqe* entries;

static unsigned* at(unsigned offset) { return (unsigned*)(queues + offset); }

// False: there is no io_uring here.
static int read_by_ring(int file, char** blocks) {
  const int ring = (int)syscall(SYS_io_uring_setup, kReads, &facts);
  if (ring < 0) return 0;
  const size_t bytes = facts.cq_off.cqes + facts.cq_entries * sizeof(struct io_uring_cqe);
  queues = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  entries = mmap(NULL, kReads * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  if (queues == MAP_FAILED || (void*)entries == MAP_FAILED) exit(1);
  for (unsigned i = 0; i < kReads; ++i) {
    memset(&entries[i], 0, sizeof entries[i]);
    entries[i].opcode = IORING_OP_READ;
    entries[i].fd = file;
    entries[i].addr = (unsigned long)blocks[i];
    entries[i].len = kBytes;
    entries[i].off = i * 100;
    entries[i].user_data = i;
    at(facts.sq_off.array)[i] = i;
  }
  __atomic_store_n(at(facts.sq_off.tail), kReads, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, kReads, 0, 0, NULL, 0) != kReads) exit(2);
  for (int i = 0; i < 1000; ++i) free(malloc(200));
  if (syscall(SYS_io_uring_enter, ring, 0, kReads, IORING_ENTER_GETEVENTS, NULL, 0) < 0) exit(3);
  const struct io_uring_cqe* done = (const struct io_uring_cqe*)(queues + facts.cq_off.cqes);
  for (unsigned i = 0; i < kReads; ++i) {
    if (done[i].res != kBytes) exit(4);
  }
  munmap(queues, bytes);
  munmap(entries, kReads * sizeof *entries);
  close(ring);
  return 1;
}

int main(int count, char** words) {
  (void)count;
  const int file = open(words[0], O_RDONLY);  // the program's own, of 16 KB at least
  char* blocks[kReads];
  for (int i = 0; i < kReads; ++i) blocks[i] = malloc(kBytes);
  if (!read_by_ring(file, blocks)) {
    for (int i = 0; i < kReads; ++i) {
      if (pread(file, blocks[i], kBytes, i * 100) != kBytes) exit(5);
    }
  }
  unsigned long sum = 0;
  for (int i = 0; i < kReads; ++i) {
    for (int byte = 0; byte < kBytes; ++byte) sum = sum * 31 + (unsigned char)blocks[i][byte];
    free(blocks[i]);
  }
  printf("%lx\n", sum);
  return 8;
}
