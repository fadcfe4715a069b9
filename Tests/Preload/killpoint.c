// Preloaded into a server under test: counts the steps by which a process leaves something behind (writes to files, syncs,
// renames, removals, truncations, new directories), over all threads, and ends the process with SIGKILL before the one whose
// number the environment gives. Counting starts once the file KILLPOINT_ARMED exists; with KILLPOINT_LOG every step counted
// is a line there. KILLPOINT_KINDS narrows the steps down: a word of letters, see `take`.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count = 0;
static int is_armed = 0;
static int log_descriptor = -1;

#define REAL(name, result, ...) \
  static result (*real)(__VA_ARGS__) = NULL; \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

// kind: w write, t truncate, s sync, r rename, u unlink, m mkdir, c create
static void take(char kind, const char *name) {
  const char *armed = getenv("KILLPOINT_ARMED");
  if (!armed) return;
  const char *kinds = getenv("KILLPOINT_KINDS");
  if (kinds && !strchr(kinds, kind)) return;
  pthread_mutex_lock(&lock);
  if (!is_armed && access(armed, F_OK) == 0) is_armed = 1;
  if (is_armed) {
    count += 1;
    const char *log = getenv("KILLPOINT_LOG");
    if (log && log_descriptor < 0) {
      log_descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (log_descriptor >= 0) dprintf(log_descriptor, "%ld %s\n", count, name);
    const char *at = getenv("KILLPOINT_AT");
    if (at && atol(at) == count) {
      kill(getpid(), SIGKILL);
      for (;;) pause();
    }
  }
  pthread_mutex_unlock(&lock);
}

static int is_file(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  REAL(pwrite, ssize_t, int, const void *, size_t, off_t);
  take('w', "pwrite");
  return real(descriptor, bytes, length, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  REAL(pwrite64, ssize_t, int, const void *, size_t, off64_t);
  take('w', "pwrite");
  return real(descriptor, bytes, length, offset);
}

int ftruncate(int descriptor, off_t length) {
  REAL(ftruncate, int, int, off_t);
  take('t', "ftruncate");
  return real(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(ftruncate64, int, int, off64_t);
  take('t', "ftruncate");
  return real(descriptor, length);
}

int fsync(int descriptor) {
  REAL(fsync, int, int);
  take('s', is_file(descriptor) ? "fsync" : "fsync directory");
  return real(descriptor);
}

int fdatasync(int descriptor) {
  REAL(fdatasync, int, int);
  take('s', "fdatasync");
  return real(descriptor);
}

int rename(const char *from, const char *to) {
  REAL(rename, int, const char *, const char *);
  take('r', "rename");
  return real(from, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags) {
  REAL(renameat2, int, int, const char *, int, const char *, unsigned int);
  take('r', "renameat2");
  return real(from_directory, from, to_directory, to, flags);
}

int unlink(const char *path) {
  REAL(unlink, int, const char *);
  take('u', "unlink");
  return real(path);
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat, int, int, const char *, int);
  take('u', "unlinkat");
  return real(directory, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir, int, const char *, mode_t);
  take('m', "mkdir");
  return real(path, mode);
}
