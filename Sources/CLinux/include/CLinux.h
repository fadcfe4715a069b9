// What Swift's Glibc module does not offer: system calls it does not import, macros with arguments, variadic
// functions, and constants of enumerations that arrive without a usable type.
#ifndef PULLBOX_CLINUX_H
#define PULLBOX_CLINUX_H

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/un.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// open and openat are variadic; these always pass a mode.
int clinux_open(const char *path, int flags, mode_t mode);
int clinux_openat(int directory, const char *path, int flags, mode_t mode);

// accept4, renameat2 and sync_file_range need _GNU_SOURCE, which the Glibc module does not define.
int clinux_accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
int clinux_renameat2(int old_directory, const char *old_path, int new_directory, const char *new_path,
                     unsigned int flags);
int clinux_sync_file_range(int descriptor, off_t offset, off_t length, unsigned int flags);
int clinux_syncfs(int descriptor);

// ioctl is variadic. FICLONE: lets the empty file have the other's bytes without copying them, where the file system can.
int clinux_clone(int descriptor, int source);
// statx needs _GNU_SOURCE. The kernel's number of the mount that the file was opened through; 0 where it does not tell.
uint64_t clinux_mount_identifier(int descriptor);
// What the name in the directory stands for, a link itself; another machine's file system asks that machine, as open(2) does and
// fstatat(2) does not.
int clinux_status_at(int directory, const char *name, struct stat *status);

// prctl is variadic and pthread_setname_np needs _GNU_SOURCE. Names the calling thread; the kernel keeps 15 bytes.
void clinux_name_thread(const char *name);

// ioprio_set(2) has no wrapper and SCHED_IDLE needs _GNU_SOURCE. Below 0 the calling thread's disk requests go when no other wants the disk,
// and its work when no other wants a processor; above 0 both go as everyone's; at 0 as they did at first. Where the system does not let
// this process, all stays as it is. A thread that could not come back keeps its turn at the processors.
void clinux_set_thread_standing(int standing);

// From now on `taker` is called, on any thread, with each part of a Swift task that may run anywhere; it has to see to it that
// clinux_run_task is called with that part once. To be called before there is a task.
void clinux_take_tasks(void (*taker)(uintptr_t job));
void clinux_run_task(uintptr_t job);

// A timer on CLOCK_BOOTTIME: `ring` is called on a thread of its own each time it runs out. To be called once in a process. The
// timer, or -1 where the system has none to give.
int clinux_start_alarm(void (*ring)(void));
// When the timer runs out, in nanoseconds of that clock, in place of what was set before.
void clinux_set_alarm(int timer, int64_t nanoseconds);

// mallopt is in malloc.h, which the Glibc module does not offer. At most so many heaps; what is as long as `mapped`, in
// bytes, is mapped by itself and given back when it is freed; the end of a heap is given back when more than `kept` bytes of it
// are free. False where the C library takes no such advice.
bool clinux_limit_heaps(int count, int mapped, int kept);
// Gives what was freed back to the system, in all heaps, page by page.
void clinux_trim_heaps(void);

// preadv2 needs _GNU_SOURCE. False only when the page at that offset would have to be read from a device.
bool clinux_is_cached(int descriptor, off_t offset);
// cachestat(2), younger than the C library of Debian 12. Pages of the range that are in the page cache, or are being read into
// it; -1 and errno.
int64_t clinux_cached_pages(int descriptor, off_t offset, off_t length);
// As pread(2), of what is in the page cache: fewer bytes, or -1, where a device would have to be waited for.
ssize_t clinux_read_cached(int descriptor, void *buffer, size_t length, off_t offset);

// ioctl is variadic. Bytes that were sent and not acknowledged yet; 0 where the socket cannot tell.
int clinux_queued_output(int socket);

// SO_PEERCRED gives a struct ucred, which needs _GNU_SOURCE. The process that connected a Unix socket, its effective user and
// group; -1 and errno where the socket has no such peer.
int clinux_peer_credentials(int socket, pid_t *process, uid_t *user, gid_t *group);
// SO_PEERGROUPS: that process's supplementary groups. How many there are, which may be more than `capacity`, when nothing is
// written; -1 and errno.
int clinux_peer_groups(int socket, gid_t *groups, int capacity);
// SO_PEERPIDFD (Linux 6.5): 1 where that process has ended, so that its number may be another's; 0 where it lives, -1 where the kernel
// does not tell.
int clinux_peer_has_ended(int socket);

// ioctl is variadic.
int clinux_terminal_columns(int descriptor);
int clinux_terminal_rows(int descriptor);

// clock_gettime(2), in nanoseconds. The members of timespec belong to whichever C module the compiler met first, so that a
// clean build can refuse them to a Swift file; this and the next two keep timespec out of Swift.
int64_t clinux_boottime(void);
int64_t clinux_monotonic_time(void);
int64_t clinux_realtime(void);
// When the file was last modified: seconds since the epoch, and nanoseconds beyond them.
struct stat;
int64_t clinux_modification_seconds(const struct stat *status);
int64_t clinux_modification_nanoseconds(const struct stat *status);
// When the file or what is known of it was last changed, and when it was last read: nanoseconds since the epoch.
int64_t clinux_change_time(const struct stat *status);
int64_t clinux_access_time(const struct stat *status);

// localtime_r(3) and strftime(3) by the time zone of TZ; `tm` belongs to more than one C module. 0 when the buffer is too small.
size_t clinux_format_local_time(int64_t seconds, const char *format, char *buffer, size_t capacity);
// Seconds by which local time is ahead of UTC then (localtime_r(3), `tm_gmtoff`); the zone is read anew where it has changed. 0 for a
// time without a date.
int64_t clinux_local_offset(int64_t seconds);

// A socket of that protocol of netlink(7), bound to these groups, which does not wait; -1 and errno.
int clinux_open_netlink(int protocol, unsigned int groups);
// Asks the kernel for all of that kind, such as RTM_GETLINK; the answer has the number. -1 and errno.
int clinux_request_dump(int socket, int kind, unsigned int sequence);
// What the kernel itself has sent; what other processes send is left out. -1 and errno: EAGAIN where there is nothing, ENOBUFS where
// something was lost.
ssize_t clinux_receive_netlink(int socket, void *buffer, size_t length);
extern const int clinux_netlink_route;
extern const int clinux_netlink_uevents;
// The groups of links, addresses and routes.
extern const unsigned int clinux_netlink_network_groups;

// The commit that the build was told of; empty where it was told none.
const char *clinux_build_commit(void);

// fallocate and O_NOATIME need _GNU_SOURCE. Takes room for a file of that length; unlike posix_fallocate it never writes.
int clinux_fallocate(int descriptor, off_t length);
// FALLOC_FL_PUNCH_HOLE with FALLOC_FL_KEEP_SIZE: gives the room of these bytes back, which are zeros from then on.
int clinux_punch_hole(int descriptor, off_t offset, off_t length);
// lseek(2) with SEEK_DATA and SEEK_HOLE: where the next bytes that take room begin, and where they end.
off_t clinux_seek_data(int descriptor, off_t offset);
off_t clinux_seek_hole(int descriptor, off_t offset);
extern const int clinux_open_no_access_time;
extern const int clinux_open_path_only;
// O_DIRECT needs _GNU_SOURCE. Sets or clears it on an open file; -1 and errno where the file system does not have it.
int clinux_set_direct(int descriptor, bool is_direct);

extern const unsigned int clinux_rename_noreplace;
extern const unsigned int clinux_rename_exchange;
extern const unsigned int clinux_sync_file_range_write;
// Starts writing and waits until what was written is on the device.
extern const unsigned int clinux_sync_file_range_wait;

// EPOLLET is 1u << 31, which Swift imports with the wrong sign.
extern const uint32_t clinux_epoll_edge_triggered;

// EPOLLEXCLUSIVE and EPOLLRDHUP arrive as enumeration cases of their own type.
extern const uint32_t clinux_epoll_exclusive;

// epoll_data is a union; the tag is all this project stores in it.
static inline struct epoll_event clinux_epoll_event(uint32_t events, uint64_t tag) {
  struct epoll_event event = {.events = events, .data = {.u64 = tag}};
  return event;
}

static inline uint64_t clinux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }

#if defined(__SSE2__)
static inline __attribute__((always_inline)) __m128i clinux_is_below(__m128i bytes, uint8_t first, uint8_t count) {
  __m128i moved = _mm_sub_epi8(bytes, _mm_set1_epi8((char)first));
  return _mm_cmpeq_epi8(_mm_min_epu8(moved, _mm_set1_epi8((char)(count - 1))), moved);
}
#endif
/// What clinux_plain_run looks for: bytes of field values but tabs; letters and hyphens; letters, digits, hyphens, dots and
/// slashes; the same without slashes.
enum { clinux_value_bytes, clinux_name_bytes, clinux_target_bytes, clinux_host_bytes };

static inline __attribute__((always_inline)) bool clinux_is_plain(uint8_t byte, int32_t kind) {
  uint8_t letter = (uint8_t)((byte | 0x20) - 'a');
  switch (kind) {
  case clinux_value_bytes: return byte >= 0x20 && byte != 0x7F;
  case clinux_name_bytes: return letter < 26 || byte == '-';
  default: return letter < 26 || ((uint8_t)(byte - '-') < 13 && (byte != '/' || kind == clinux_target_bytes));
  }
}

/// How many of `count` bytes, from the first on, are of the class: sixteen are looked at together, where the processor can.
static inline __attribute__((always_inline)) intptr_t clinux_plain_run(const uint8_t *bytes, intptr_t count, int32_t kind) {
  intptr_t position = 0;
#if defined(__SSE2__)
  for (; position + 16 <= count; position += 16) {
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(bytes + position));
    uint32_t others;
    if (kind == clinux_value_bytes) {
      others = (uint32_t)_mm_movemask_epi8(_mm_or_si128(
          clinux_is_below(block, 0, 0x20), _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7F))));
    } else {
      __m128i plain = clinux_is_below(_mm_or_si128(block, _mm_set1_epi8(0x20)), 'a', 26);
      plain = _mm_or_si128(plain, kind == clinux_name_bytes ? _mm_cmpeq_epi8(block, _mm_set1_epi8('-'))
                                                            : clinux_is_below(block, '-', 13));
      if (kind == clinux_host_bytes) plain = _mm_andnot_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('/')), plain);
      others = 0xFFFF ^ (uint32_t)_mm_movemask_epi8(plain);
    }
    if (others != 0) return position + __builtin_ctz(others);
  }
#endif
  while (position < count && clinux_is_plain(bytes[position], kind)) position++;
  return position;
}

#endif
