// Preloaded into a program under test: its disk is slow, reads wrong, or takes no change, as the file BADDISK_FILE says in three numbers of
// eight bytes each, of the machine's own order, which may change while the program runs:
//   1. how many microseconds each read, write and sync of a regular file takes longer;
//   2. how many of the next reads of files whose path has one of the texts of BADDISK_PARTS, with colons between them, bring one bit that
//      is another one; it counts down, and the disk itself stays as it is. What sendfile(2) sends to a socket is read like that as well;
//   3. the errno with which each change of files and names below BADDISK_STATE fails; 0: none does.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { delay, wrong, refusal, members };
static int64_t nothing[members];
static int64_t *told = nothing;
static const char *parts = NULL, *state = NULL;

#define REAL(name, result, ...) \
  static result (*real)(__VA_ARGS__) = NULL; \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void map_file(void) {
  const char *path = getenv("BADDISK_FILE");
  if (!path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *bytes = mmap(NULL, sizeof(nothing), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return;
  parts = getenv("BADDISK_PARTS");
  state = getenv("BADDISK_STATE");
  told = bytes;
}

static int64_t value_of(int member) { return __atomic_load_n(&told[member], __ATOMIC_RELAXED); }

static int is_kind(int descriptor, mode_t kind) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

static void wait_for_disk(int descriptor) {
  int64_t microseconds = value_of(delay);
  if (microseconds <= 0) return;
  int saved = errno;
  if (is_kind(descriptor, S_IFREG) || is_kind(descriptor, S_IFDIR)) {
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
  }
  errno = saved;
}

// The path of an open file; false where it has none.
static int path_of(int descriptor, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return 1;
}

static int has_part(const char *path) {
  for (const char *one = parts; *one;) {
    size_t length = strcspn(one, ":");
    if (length > 0 && memmem(path, strlen(path), one, length) != NULL) return 1;
    one += length + (one[length] == ':');
  }
  return 0;
}

// Takes one of the reads that are wrong, if the file is one that is to be read like that.
static int takes_wrong(int descriptor) {
  if (value_of(wrong) <= 0 || !parts) return 0;
  char path[PATH_MAX];
  int saved = errno;
  int is_meant = is_kind(descriptor, S_IFREG) && path_of(descriptor, path) && has_part(path);
  errno = saved;
  return is_meant && __atomic_fetch_sub(&told[wrong], 1, __ATOMIC_RELAXED) > 0;
}

static ssize_t spoil(int descriptor, void *bytes, ssize_t length) {
  if (length > 0 && takes_wrong(descriptor)) ((unsigned char *)bytes)[length / 2] ^= 1;
  return length;
}

static int starts_inside(const char *path) {
  size_t length = strlen(state);
  return strncmp(path, state, length) == 0 && (path[length] == 0 || path[length] == '/');
}

// Whether a change of an open file is refused; errno says how.
static int refuses(int descriptor) {
  int64_t error = value_of(refusal);
  if (error == 0 || !state) return 0;
  char path[PATH_MAX];
  int saved = errno;
  int is_refused = (is_kind(descriptor, S_IFREG) || is_kind(descriptor, S_IFDIR)) && path_of(descriptor, path) && starts_inside(path);
  errno = is_refused ? (int)error : saved;
  return is_refused;
}

// The same of a name in a directory.
static int refuses_name(int directory, const char *name) {
  int64_t error = value_of(refusal);
  if (error == 0 || !state || !name) return 0;
  char path[PATH_MAX] = "";
  int saved = errno, is_refused;
  if (name[0] == '/') {
    is_refused = starts_inside(name);
  } else if (directory == AT_FDCWD) {
    is_refused = getcwd(path, sizeof path) != NULL && starts_inside(path);
  } else {
    is_refused = path_of(directory, path) && starts_inside(path);
  }
  errno = is_refused ? (int)error : saved;
  return is_refused;
}

// A name that goes is a change as well as one that comes.
static int refuses_move(int from_directory, const char *from, int to_directory, const char *to) {
  return refuses_name(from_directory, from) || refuses_name(to_directory, to);
}

ssize_t read(int descriptor, void *bytes, size_t length) {
  REAL(read, ssize_t, int, void *, size_t);
  wait_for_disk(descriptor);
  return spoil(descriptor, bytes, real(descriptor, bytes, length));
}

ssize_t pread(int descriptor, void *bytes, size_t length, off_t offset) {
  REAL(pread, ssize_t, int, void *, size_t, off_t);
  wait_for_disk(descriptor);
  return spoil(descriptor, bytes, real(descriptor, bytes, length, offset));
}

ssize_t pread64(int descriptor, void *bytes, size_t length, off64_t offset) {
  REAL(pread64, ssize_t, int, void *, size_t, off64_t);
  wait_for_disk(descriptor);
  return spoil(descriptor, bytes, real(descriptor, bytes, length, offset));
}

typedef ssize_t vector_read(int, const struct iovec *, int, off_t, int);

static ssize_t read_vectors(vector_read *real, int descriptor, const struct iovec *vectors, int count, off_t offset, int flags) {
  // The kernel has at hand what is asked for without a wait.
  if (!(flags & RWF_NOWAIT)) wait_for_disk(descriptor);
  ssize_t length = real(descriptor, vectors, count, offset, flags);
  // A single byte is asked for to learn whether it is at hand, and thrown away: no wrong read is spent on it.
  if (length > 1 && count > 0) {
    size_t first = vectors[0].iov_len < (size_t)length ? vectors[0].iov_len : (size_t)length;
    spoil(descriptor, vectors[0].iov_base, (ssize_t)first);
  }
  return length;
}

ssize_t preadv2(int descriptor, const struct iovec *vectors, int count, off_t offset, int flags) {
  REAL(preadv2, ssize_t, int, const struct iovec *, int, off_t, int);
  return read_vectors(real, descriptor, vectors, count, offset, flags);
}

ssize_t preadv64v2(int descriptor, const struct iovec *vectors, int count, off64_t offset, int flags) {
  REAL(preadv64v2, ssize_t, int, const struct iovec *, int, off_t, int);
  return read_vectors(real, descriptor, vectors, count, offset, flags);
}

static ssize_t send_wrong(int sink, int source, off_t *offset, size_t count) {
  unsigned char bytes[16384];
  off_t place = offset ? *offset : lseek(source, 0, SEEK_CUR);
  ssize_t length = syscall(SYS_pread64, source, bytes, count < sizeof bytes ? count : sizeof bytes, place);
  ssize_t sent = length;
  if (length > 0) {
    bytes[length / 2] ^= 1;
    sent = syscall(SYS_write, sink, bytes, (size_t)length);
  }
  // A socket that takes nothing, or less than half, has not got that byte: the next call brings one.
  if (sent <= length / 2) __atomic_fetch_add(&told[wrong], 1, __ATOMIC_RELAXED);
  if (sent > 0 && offset) *offset = place + sent;
  if (sent > 0 && !offset) lseek(source, place + sent, SEEK_SET);
  return sent;
}

typedef ssize_t file_send(int, int, off_t *, size_t);

static ssize_t send_file(file_send *real, int sink, int source, off_t *offset, size_t count) {
  wait_for_disk(source);
  if (value_of(wrong) > 0 && is_kind(sink, S_IFSOCK) && takes_wrong(source)) return send_wrong(sink, source, offset, count);
  return real(sink, source, offset, count);
}

ssize_t sendfile(int sink, int source, off_t *offset, size_t count) {
  REAL(sendfile, ssize_t, int, int, off_t *, size_t);
  return send_file(real, sink, source, offset, count);
}

ssize_t sendfile64(int sink, int source, off64_t *offset, size_t count) {
  REAL(sendfile64, ssize_t, int, int, off_t *, size_t);
  return send_file(real, sink, source, offset, count);
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
  REAL(write, ssize_t, int, const void *, size_t);
  wait_for_disk(descriptor);
  return refuses(descriptor) ? -1 : real(descriptor, bytes, length);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  REAL(pwrite, ssize_t, int, const void *, size_t, off_t);
  wait_for_disk(descriptor);
  return refuses(descriptor) ? -1 : real(descriptor, bytes, length, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  REAL(pwrite64, ssize_t, int, const void *, size_t, off64_t);
  wait_for_disk(descriptor);
  return refuses(descriptor) ? -1 : real(descriptor, bytes, length, offset);
}

ssize_t writev(int descriptor, const struct iovec *vectors, int count) {
  REAL(writev, ssize_t, int, const struct iovec *, int);
  wait_for_disk(descriptor);
  return refuses(descriptor) ? -1 : real(descriptor, vectors, count);
}

int fsync(int descriptor) {
  REAL(fsync, int, int);
  wait_for_disk(descriptor);
  return refuses(descriptor) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
  REAL(fdatasync, int, int);
  wait_for_disk(descriptor);
  return refuses(descriptor) ? -1 : real(descriptor);
}

int ftruncate(int descriptor, off_t length) {
  REAL(ftruncate, int, int, off_t);
  return refuses(descriptor) ? -1 : real(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(ftruncate64, int, int, off64_t);
  return refuses(descriptor) ? -1 : real(descriptor, length);
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  REAL(fallocate, int, int, int, off_t, off_t);
  return refuses(descriptor) ? -1 : real(descriptor, mode, offset, length);
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  REAL(posix_fallocate, int, int, off_t, off_t);
  return refuses(descriptor) ? errno : real(descriptor, offset, length);
}

int rename(const char *from, const char *to) {
  REAL(rename, int, const char *, const char *);
  return refuses_move(AT_FDCWD, from, AT_FDCWD, to) ? -1 : real(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  REAL(renameat, int, int, const char *, int, const char *);
  return refuses_move(from_directory, from, to_directory, to) ? -1 : real(from_directory, from, to_directory, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags) {
  REAL(renameat2, int, int, const char *, int, const char *, unsigned int);
  return refuses_move(from_directory, from, to_directory, to) ? -1 : real(from_directory, from, to_directory, to, flags);
}

int unlink(const char *path) {
  REAL(unlink, int, const char *);
  return refuses_name(AT_FDCWD, path) ? -1 : real(path);
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat, int, int, const char *, int);
  return refuses_name(directory, path) ? -1 : real(directory, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir, int, const char *, mode_t);
  return refuses_name(AT_FDCWD, path) ? -1 : real(path, mode);
}

int mkdirat(int directory, const char *path, mode_t mode) {
  REAL(mkdirat, int, int, const char *, mode_t);
  return refuses_name(directory, path) ? -1 : real(directory, path, mode);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  REAL(linkat, int, int, const char *, int, const char *, int);
  return refuses_name(to_directory, to) ? -1 : real(from_directory, from, to_directory, to, flags);
}

// Variadic in C; the mode is passed on, and means nothing without O_CREAT.
#define MODE(flags) \
  va_list arguments; \
  va_start(arguments, flags); \
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
  va_end(arguments)

// As on a file system that was mounted anew to be read alone: nothing can be opened to be written.
static int refuses_opening(int directory, const char *path, int flags) {
  return (flags & (O_CREAT | O_TRUNC) || (flags & O_ACCMODE) != O_RDONLY) && refuses_name(directory, path);
}

int open(const char *path, int flags, ...) {
  REAL(open, int, const char *, int, mode_t);
  MODE(flags);
  return refuses_opening(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  REAL(open64, int, const char *, int, mode_t);
  MODE(flags);
  return refuses_opening(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  REAL(openat, int, int, const char *, int, mode_t);
  MODE(flags);
  return refuses_opening(directory, path, flags) ? -1 : real(directory, path, flags, mode);
}
