// Preloaded into a program under test: as many of its next syncs fail with EIO as the file FAILSYNC_FILE says, eight bytes of the machine's own
// order, which count down. Nothing is synced then.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t *left = NULL;

__attribute__((constructor)) static void map_count(void) {
  const char *path = getenv("FAILSYNC_FILE");
  if (!path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *bytes = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (bytes != MAP_FAILED) left = bytes;
}

static int fails(void) {
  if (!left || __atomic_load_n(left, __ATOMIC_RELAXED) <= 0) return 0;
  if (__atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) <= 0) return 0;
  errno = EIO;
  return 1;
}

int fsync(int file) { return fails() ? -1 : (int)syscall(SYS_fsync, file); }

int fdatasync(int file) { return fails() ? -1 : (int)syscall(SYS_fdatasync, file); }
