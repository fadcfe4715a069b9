// Preloaded into a program whose day is compressed: its wall clock, and the clock by which it pauses between two looks at its
// records, go RATE times as fast as the machine's from one moment on. QUICK_CLOCK has the rate, and that moment by the machine's two
// clocks, in nanoseconds: "12 1795249800000000000 86400000000000". Programs with the same text have the same time.
//
// CLOCK_MONOTONIC stays as it is, and so do waits for a condition or a semaphore: who waits a second waits one of the machine's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../Tests/Preload/clock.h"

enum { second = 1000000000, most_files = 1 << 16 };

static int64_t rate = 1, wall_begun, boot_begun;
static uint8_t timer_clocks[most_files];  // of each descriptor that is a timer's, its clock and one

__attribute__((constructor)) static void read_rate(void) {
  const char *text = getenv("QUICK_CLOCK");
  long long given, wall, boot;
  if (!text || sscanf(text, "%lld %lld %lld", &given, &wall, &boot) != 3 || given < 1) return;
  wall_begun = wall;
  boot_begun = boot;
  rate = given;
}

static int64_t nanoseconds(const struct timespec *time) { return (int64_t)time->tv_sec * second + time->tv_nsec; }

static struct timespec timespec_of(int64_t nanoseconds) {
  return (struct timespec){.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

// Whether the clock is a quick one, and from when on.
static int is_quick(clockid_t clock, int64_t *begun) {
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return *begun = wall_begun, 1;
  if (clock == CLOCK_BOOTTIME || clock == CLOCK_BOOTTIME_ALARM) return *begun = boot_begun, 1;
  return 0;
}

// The kernel is asked itself: a search for the C library's own function may allocate, and come back here.
int clock_gettime(clockid_t clock, struct timespec *time) {
  if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  int64_t begun;
  if (is_quick(clock, &begun)) *time = timespec_of(begun + (nanoseconds(time) - begun) * rate);
  return 0;
}

// ---- timers

int timerfd_create(int clock, int flags) {
  int file = (int)syscall(SYS_timerfd_create, clock, flags);
  if (file >= 0 && file < most_files) timer_clocks[file] = (uint8_t)(clock + 1);
  return file;
}

int timerfd_settime(int file, int flags, const struct itimerspec *given, struct itimerspec *before) {
  struct itimerspec setting = *given;
  int64_t begun, end = nanoseconds(&given->it_value);
  if (file >= 0 && file < most_files && timer_clocks[file] && end != 0 && is_quick(timer_clocks[file] - 1, &begun)) {
    // Rounded up: a timer that goes off before its time finds nothing that is due. Zero would switch it off.
    end = flags & TFD_TIMER_ABSTIME ? begun + (end - begun + rate - 1) / rate : (end + rate - 1) / rate;
    setting.it_value = timespec_of(end > 0 ? end : 1);
    setting.it_interval = timespec_of(nanoseconds(&given->it_interval) / rate);
  }
  return (int)syscall(SYS_timerfd_settime, file, flags, &setting, before);
}

// What a loop waits for its deadlines, which are of the quick clock.
int epoll_wait(int file, struct epoll_event *events, int most, int milliseconds) {
  static int (*original)(int, struct epoll_event *, int, int);
  if (!original) original = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
  return original(file, events, most, milliseconds > 0 ? (int)((milliseconds + rate - 1) / rate) : milliseconds);
}

// ---- ends of waits, which the caller has counted from the quick clock

// By the machine's monotonic clock, as far away as `end` is by the quick one.
static struct timespec monotonic_end(const struct timespec *end) {
  struct timespec quick, now;
  clock_gettime(CLOCK_REALTIME, &quick);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  int64_t left = nanoseconds(end) - nanoseconds(&quick);
  return timespec_of(nanoseconds(&now) + (left > 0 ? left : 0));
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
  struct timespec until = monotonic_end(end);
  return sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict end) {
  static int (*original)(pthread_cond_t *restrict, pthread_mutex_t *restrict, const struct timespec *restrict);
  if (!original)
    original = (int (*)(pthread_cond_t *restrict, pthread_mutex_t *restrict, const struct timespec *restrict))dlsym(
        RTLD_NEXT, "pthread_cond_timedwait");
  // A condition of the monotonic clock has an end within the machine's uptime.
  if (end->tv_sec < wall_begun / second / 2) return original(condition, mutex, end);
  struct timespec until = monotonic_end(end);
  return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}
