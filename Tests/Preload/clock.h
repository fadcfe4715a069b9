// The older questions for the time, answered by the clock_gettime() of the library that includes this.

#ifndef PULLBOX_PRELOAD_CLOCK_H
#define PULLBOX_PRELOAD_CLOCK_H

#include <sys/time.h>
#include <time.h>

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

#endif
