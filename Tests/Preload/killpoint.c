// Preloaded into a daemon under test: counts the steps by which a process leaves something behind (writes to files, syncs,
// renames, links, removals, truncations, new files and directories), over all threads, and ends the process with SIGKILL
// before the one whose number the environment gives, or tells it to end with the signal KILLPOINT_SIGNAL; with KILLPOINT_ERRNO that step fails with this errno instead, and the
// process goes on; with KILLPOINT_DELAY each step takes so many milliseconds longer, as on a slow card. Counting starts once the file KILLPOINT_ARMED exists; with KILLPOINT_LOG every step counted is a line
// there. KILLPOINT_KINDS narrows the steps down: a word of letters, see `take`.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
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

// kind: w write, t truncate, s sync, b begin or await writing back, r rename, l link, u unlink, m mkdir, c create,
// p permissions, i read. Answers whether the step is to fail; errno says how.
static int take(char kind, const char *name) {
  const char *armed = getenv("KILLPOINT_ARMED");
  if (!armed) return 0;
  const char *kinds = getenv("KILLPOINT_KINDS");
  if (kinds && !strchr(kinds, kind)) return 0;
  int fails = 0;
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
    const char *number = getenv("KILLPOINT_ERRNO");
    if (at && atol(at) == count && number) {
      fails = 1;
      errno = atoi(number);
    } else if (at && atol(at) == count) {
      const char *signal = getenv("KILLPOINT_SIGNAL");
      kill(getpid(), signal ? atoi(signal) : SIGKILL);
      // Another signal asks for the end, and the step is made.
      while (!signal) pause();
    }
  }
  const char *delay = is_armed ? getenv("KILLPOINT_DELAY") : NULL;
  int saved = errno;
  pthread_mutex_unlock(&lock);
  if (delay) usleep((useconds_t)atol(delay) * 1000);
  errno = saved;
  return fails;
}

static int is_file(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  REAL(pwrite, ssize_t, int, const void *, size_t, off_t);
  if (take('w', "pwrite")) return -1;
  return real(descriptor, bytes, length, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  REAL(pwrite64, ssize_t, int, const void *, size_t, off64_t);
  if (take('w', "pwrite")) return -1;
  return real(descriptor, bytes, length, offset);
}

int ftruncate(int descriptor, off_t length) {
  REAL(ftruncate, int, int, off_t);
  if (take('t', "ftruncate")) return -1;
  return real(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(ftruncate64, int, int, off64_t);
  if (take('t', "ftruncate")) return -1;
  return real(descriptor, length);
}

int fsync(int descriptor) {
  REAL(fsync, int, int);
  if (take('s', is_file(descriptor) ? "fsync" : "fsync directory")) return -1;
  return real(descriptor);
}

int fdatasync(int descriptor) {
  REAL(fdatasync, int, int);
  if (take('s', "fdatasync")) return -1;
  return real(descriptor);
}

int rename(const char *from, const char *to) {
  REAL(rename, int, const char *, const char *);
  if (take('r', "rename")) return -1;
  return real(from, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags) {
  REAL(renameat2, int, int, const char *, int, const char *, unsigned int);
  if (take('r', "renameat2")) return -1;
  return real(from_directory, from, to_directory, to, flags);
}

int unlink(const char *path) {
  REAL(unlink, int, const char *);
  if (take('u', "unlink")) return -1;
  return real(path);
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat, int, int, const char *, int);
  if (take('u', "unlinkat")) return -1;
  return real(directory, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir, int, const char *, mode_t);
  if (take('m', "mkdir")) return -1;
  return real(path, mode);
}

int mkdirat(int directory, const char *path, mode_t mode) {
  REAL(mkdirat, int, int, const char *, mode_t);
  if (take('m', "mkdirat")) return -1;
  return real(directory, path, mode);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  REAL(linkat, int, int, const char *, int, const char *, int);
  if (take('l', "linkat")) return -1;
  return real(from_directory, from, to_directory, to, flags);
}

int syncfs(int descriptor) {
  REAL(syncfs, int, int);
  if (take('s', "syncfs")) return -1;
  return real(descriptor);
}

int sync_file_range(int descriptor, off64_t offset, off64_t length, unsigned int flags) {
  REAL(sync_file_range, int, int, off64_t, off64_t, unsigned int);
  if (take('b', "sync_file_range")) return -1;
  return real(descriptor, offset, length, flags);
}

int fchmod(int descriptor, mode_t mode) {
  REAL(fchmod, int, int, mode_t);
  if (take('p', "fchmod")) return -1;
  return real(descriptor, mode);
}

ssize_t pread(int descriptor, void *bytes, size_t length, off_t offset) {
  REAL(pread, ssize_t, int, void *, size_t, off_t);
  if (take('i', "pread")) return -1;
  return real(descriptor, bytes, length, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t length, off64_t offset) {
  REAL(pread64, ssize_t, int, void *, size_t, off64_t);
  if (take('i', "pread")) return -1;
  return real(descriptor, bytes, length, offset);
}

// Variadic in C; the mode is passed on, and means nothing without O_CREAT.
int openat(int directory, const char *path, int flags, ...) {
  REAL(openat, int, int, const char *, int, mode_t);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (flags & O_CREAT && take('c', "openat")) return -1;
  return real(directory, path, flags, mode);
}
