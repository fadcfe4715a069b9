// Only in a build for ThreadSanitizer. Its view of Swift's `Mutex` ends where two threads meet at one: the
// slow paths lie in libswiftSynchronization, which is not built for it, and let the kernel write the lock's
// word (FUTEX_LOCK_PI). These two stand before the library's own functions, call them, and tell the tool what
// follows from them: everything before an unlock happens before everything after the next lock. Without them
// each contended mutex would be reported as a race.
#if __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#include "CLinux.h"

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// The names as `nm -D libswiftSynchronization.so` shows them: _MutexHandle._lockSlow(UInt32) and
// _unlockSlow(), both with the mutex in the register of `self`.
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

SWIFT void clinux_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void clinux_unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void clinux_lock_slow(uint32_t thread, SELF) {
  SWIFT void (*real)(uint32_t, SELF) = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK_SLOW);
  real(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT void clinux_unlock_slow(SELF) {
  SWIFT void (*real)(SELF) = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK_SLOW);
  __tsan_release(mutex);
  real(mutex);
}
#endif
