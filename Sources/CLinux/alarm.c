// A timer on CLOCK_BOOTTIME with a thread that waits for it.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct alarm {
  int timer;
  void (*ring)(void);
};

static void *wait_for_alarms(void *argument) {
  struct alarm *alarm = argument;
  clinux_name_thread("pullbox-sleep");
  for (;;) {
    uint64_t times;
    if (read(alarm->timer, &times, sizeof times) == sizeof times) alarm->ring();
  }
  return NULL;
}

int clinux_start_alarm(void (*ring)(void)) {
  // One for the process: its thread never ends.
  static struct alarm alarm;
  alarm.ring = ring;
  alarm.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  if (alarm.timer == -1) return -1;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int result = pthread_create(&thread, NULL, wait_for_alarms, &alarm);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (result != 0) {
    close(alarm.timer);
    return -1;
  }
  pthread_detach(thread);
  return alarm.timer;
}

void clinux_set_alarm(int timer, int64_t nanoseconds) {
  // Zero would switch the timer off.
  int64_t time = nanoseconds > 0 ? nanoseconds : 1;
  struct itimerspec setting = {{0, 0}, {time / 1000000000, time % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
}
