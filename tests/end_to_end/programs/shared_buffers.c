/* Buffers that count their holders and say so: messages that nobody shares, and a picture that several do. */
#include <stdlib.h>
#include <string.h>

#include "tare/reporter.h"

struct buffer {
  int holders;
  char bytes[60];
};

static struct buffer* hold(struct buffer* buffer) {
  if (++buffer->holders == 2) tare_report_sharing(buffer, 1);
  return buffer;
}

static void let_go(struct buffer* buffer) {
  if (--buffer->holders == 0) free(buffer);
}

__attribute__((noinline)) static struct buffer* make_message(void) {
  struct buffer* made = (struct buffer*)malloc(sizeof *made);
  made->holders = 1;
  tare_report_sharing(made, 0);
  return made;
}

__attribute__((noinline)) static struct buffer* make_picture(void) {
  struct buffer* made = (struct buffer*)malloc(sizeof *made);
  made->holders = 1;
  tare_report_sharing(made, 0);
  return made;
}

int main(void) {
  int i;
  static struct buffer* pictures[2000];
  for (i = 0; i < 5000; ++i) {
    struct buffer* message = make_message();
    memset(message->bytes, i, sizeof message->bytes);
    let_go(message);
  }
  for (i = 0; i < 2000; ++i) {
    pictures[i] = make_picture();
    if (i % 2 == 0) hold(pictures[i]);
  }
  tare_clear_reports();
  for (i = 0; i < 2000; ++i) tare_report(pictures[i], "explicit/pictures");
  tare_report_amount("explicit/pictures", 2000 * sizeof(struct buffer)); /* 64 bytes each; glibc takes 72 */
  tare_report_amount("explicit", 2000 * 72);
  return 0;
}
