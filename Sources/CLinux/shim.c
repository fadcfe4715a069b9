#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/fs.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "offsets past 2^31 need a 64-bit off_t");

static int64_t nanoseconds(clockid_t clock) {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t clinux_boottime(void) { return nanoseconds(CLOCK_BOOTTIME); }
int64_t clinux_monotonic_time(void) { return nanoseconds(CLOCK_MONOTONIC); }
int64_t clinux_realtime(void) { return nanoseconds(CLOCK_REALTIME); }

int64_t clinux_modification_seconds(const struct stat *status) { return status->st_mtim.tv_sec; }
int64_t clinux_modification_nanoseconds(const struct stat *status) { return status->st_mtim.tv_nsec; }

static int64_t nanoseconds_of(struct timespec time) {
  int64_t result;
  if (__builtin_mul_overflow((int64_t)time.tv_sec, INT64_C(1000000000), &result)) return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  return __builtin_add_overflow(result, (int64_t)time.tv_nsec, &result) ? INT64_MAX : result;
}
int64_t clinux_change_time(const struct stat *status) { return nanoseconds_of(status->st_ctim); }
int64_t clinux_access_time(const struct stat *status) { return nanoseconds_of(status->st_atim); }

int clinux_fallocate(int descriptor, off_t length) { return fallocate(descriptor, 0, 0, length); }
int clinux_punch_hole(int descriptor, off_t offset, off_t length) {
  return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}
off_t clinux_seek_data(int descriptor, off_t offset) { return lseek(descriptor, offset, SEEK_DATA); }
off_t clinux_seek_hole(int descriptor, off_t offset) { return lseek(descriptor, offset, SEEK_HOLE); }
const int clinux_open_no_access_time = O_NOATIME;
const int clinux_open_path_only = O_PATH;

int clinux_set_direct(int descriptor, bool is_direct) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags == -1) return -1;
  return fcntl(descriptor, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

int clinux_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
  return openat(directory, path, flags, mode);
}

int clinux_accept4(int socket, struct sockaddr *address, socklen_t *length, int flags) {
  return accept4(socket, address, length, flags);
}

int clinux_renameat2(int old_directory, const char *old_path, int new_directory, const char *new_path,
                     unsigned int flags) {
  return renameat2(old_directory, old_path, new_directory, new_path, flags);
}

int clinux_sync_file_range(int descriptor, off_t offset, off_t length, unsigned int flags) {
  return sync_file_range(descriptor, offset, length, flags);
}

int clinux_syncfs(int descriptor) { return syncfs(descriptor); }

int clinux_clone(int descriptor, int source) { return ioctl(descriptor, FICLONE, source); }

uint64_t clinux_mount_identifier(int descriptor) {
  struct statx status;
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return 0;
  return status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
}

int clinux_status_at(int directory, const char *name, struct stat *status) {
  struct statx found;
  int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC;
  if (statx(directory, name, flags, STATX_BASIC_STATS, &found) != 0) return -1;
  *status = (struct stat){
      .st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
      .st_ino = found.stx_ino,
      .st_mode = found.stx_mode,
      .st_nlink = found.stx_nlink,
      .st_uid = found.stx_uid,
      .st_gid = found.stx_gid,
      .st_size = (off_t)found.stx_size,
      .st_blocks = (blkcnt_t)found.stx_blocks,
      .st_atim = {.tv_sec = found.stx_atime.tv_sec, .tv_nsec = found.stx_atime.tv_nsec},
      .st_mtim = {.tv_sec = found.stx_mtime.tv_sec, .tv_nsec = found.stx_mtime.tv_nsec},
      .st_ctim = {.tv_sec = found.stx_ctime.tv_sec, .tv_nsec = found.stx_ctime.tv_nsec},
  };
  return 0;
}

void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

bool clinux_limit_heaps(int count, int mapped, int kept) {
  return mallopt(M_ARENA_MAX, count) == 1 && mallopt(M_MMAP_THRESHOLD, mapped) == 1 && mallopt(M_TRIM_THRESHOLD, kept) == 1;
}

void clinux_trim_heaps(void) { malloc_trim(0); }

bool clinux_is_cached(int descriptor, off_t offset) {
  char byte;
  struct iovec vector = {.iov_base = &byte, .iov_len = 1};
  return preadv2(descriptor, &vector, 1, offset, RWF_NOWAIT) != -1 || errno != EAGAIN;
}

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

int64_t clinux_cached_pages(int descriptor, off_t offset, off_t length) {
  struct { uint64_t offset, length; } range = {(uint64_t)offset, (uint64_t)length};
  struct { uint64_t cached, dirty, writeback, evicted, recently_evicted; } found = {0};
  return syscall(SYS_cachestat, descriptor, &range, &found, 0) == 0 ? (int64_t)found.cached : -1;
}

int clinux_queued_output(int socket) {
  int count = 0;
  return ioctl(socket, TIOCOUTQ, &count) == 0 ? count : 0;
}

int clinux_peer_credentials(int socket, pid_t *process, uid_t *user, gid_t *group) {
  struct ucred credentials = {0};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
  *process = credentials.pid;
  *user = credentials.uid;
  *group = credentials.gid;
  return 0;
}

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

int clinux_peer_groups(int socket, gid_t *groups, int capacity) {
  socklen_t length = (socklen_t)capacity * sizeof(gid_t);
  // Where the groups do not fit the kernel says ERANGE and how many bytes they have.
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &length) != 0 && errno != ERANGE) return -1;
  return (int)(length / sizeof(gid_t));
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int clinux_peer_has_ended(int socket) {
  int process = -1;
  socklen_t length = sizeof process;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process, &length) != 0) {
    // Kernels before 6.16 give no descriptor of a process that was waited for.
    return errno == EINVAL || errno == ESRCH ? 1 : -1;
  }
  struct pollfd entry = {.fd = process, .events = POLLIN};
  int count;
  do {
    count = poll(&entry, 1, 0);
  } while (count == -1 && errno == EINTR);
  close(process);
  return count == -1 ? -1 : count > 0;
}

ssize_t clinux_read_cached(int descriptor, void *buffer, size_t length, off_t offset) {
  struct iovec vector = {.iov_base = buffer, .iov_len = length};
  return preadv2(descriptor, &vector, 1, offset, RWF_NOWAIT);
}

int clinux_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int clinux_terminal_rows(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

const unsigned int clinux_rename_noreplace = RENAME_NOREPLACE;
const unsigned int clinux_rename_exchange = RENAME_EXCHANGE;
const unsigned int clinux_sync_file_range_write = SYNC_FILE_RANGE_WRITE;
const unsigned int clinux_sync_file_range_wait =
    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
const uint32_t clinux_epoll_edge_triggered = EPOLLET;
const uint32_t clinux_epoll_exclusive = EPOLLEXCLUSIVE;

size_t clinux_format_local_time(int64_t seconds, const char *format, char *buffer, size_t capacity) {
  time_t time = seconds;
  struct tm fields;
  if (localtime_r(&time, &fields) == NULL) return 0;
  return strftime(buffer, capacity, format, &fields);
}

int64_t clinux_local_offset(int64_t seconds) {
  time_t time = seconds;
  struct tm fields;
  tzset();
  return localtime_r(&time, &fields) == NULL ? 0 : fields.tm_gmtoff;
}
