// The hook by which Swift's runtime hands over the parts of tasks that may run on any thread, and the call that runs one:
// both are exported by libswift_Concurrency, with Swift's calling convention (swift/Runtime/Concurrency.h).
#include "CLinux.h"

#include <stddef.h>

#define SWIFT __attribute__((swiftcall))

// The serial executor that a part runs on: none.
struct executor {
  void *identity;
  uintptr_t implementation;
};

typedef SWIFT void (*original)(void *job);
extern SWIFT void (*swift_task_enqueueGlobal_hook)(void *job, original enqueue);
extern SWIFT void swift_job_run(void *job, struct executor executor);

static void (*take)(uintptr_t job);

static SWIFT void enqueue(void *job, original unused) {
  (void)unused;
  take((uintptr_t)job);
}

void clinux_take_tasks(void (*taker)(uintptr_t job)) {
  take = taker;
  swift_task_enqueueGlobal_hook = enqueue;
}

void clinux_run_task(uintptr_t job) {
  struct executor none = {NULL, 0};
  swift_job_run((void *)job, none);
}
