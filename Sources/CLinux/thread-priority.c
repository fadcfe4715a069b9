#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// linux/ioprio.h, which not every C library has: a class in the bits from 13 on, a level below.
enum { who_thread = 1, class_shift = 13, class_best_effort = 2, class_idle = 3, level_normal = 4 };

// What has gone to SCHED_IDLE comes back only where its nice value may be set (sched(7)).
static bool can_come_back(void) {
  struct rlimit limit;
  errno = 0;
  int nice_value = getpriority(PRIO_PROCESS, 0);
  if (errno != 0 || getrlimit(RLIMIT_NICE, &limit) != 0) return false;
  return geteuid() == 0 || limit.rlim_cur >= (rlim_t)(20 - nice_value);
}

void clinux_set_thread_standing(int standing) {
  // The class and the level that the thread began with.
  static __thread int original = -1;
  if (original == -1) original = (int)syscall(SYS_ioprio_get, who_thread, 0);
  int value = standing < 0   ? class_idle << class_shift
              : standing > 0 ? class_best_effort << class_shift | level_normal
                             : original;
  if (value != -1) (void)syscall(SYS_ioprio_set, who_thread, 0, value);
  struct sched_param parameters = {0};
  int policy = sched_getscheduler(0);
  if (standing < 0 && policy == SCHED_OTHER && can_come_back()) (void)sched_setscheduler(0, SCHED_IDLE, &parameters);
  if (standing >= 0 && policy == SCHED_IDLE) (void)sched_setscheduler(0, SCHED_OTHER, &parameters);
}
