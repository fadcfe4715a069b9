// What async functions keep in memory while they wait: how often swift_task_alloc was asked for how many bytes, and from where.
//
//   clang -O2 -Wall -Wextra -Werror -shared -fPIC -o frames.so Benchmarks/frames.c -ldl
//   LD_PRELOAD=./frames.so FRAMES=frames.txt .build/release/pullbox-server --config FILE
//
// At the end of the process FRAMES has a line for each: bytes, how often, the file, and the address in it, of which
// `addr2line -f -i -e FILE ADDRESS` tells the function. It needs Swift's runtime as a shared library, as `swift build` has it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { places = 1 << 15 };

static struct {
  void *caller;
  size_t size;
  unsigned long count;
} seen[places];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *(*allocate)(size_t);

__attribute__((constructor)) static void find(void) {
  allocate = (void *(*)(size_t))dlsym(RTLD_NEXT, "swift_task_alloc");
}

// In Swift's calling convention the size is where C has it, and the context in a register that C keeps.
void *swift_task_alloc(size_t size) {
  void *caller = __builtin_return_address(0);
  pthread_mutex_lock(&lock);
  size_t place = ((uintptr_t)caller * 2654435761u + size) % places;
  for (size_t tried = 0; tried < places; tried++, place = (place + 1) % places) {
    if (seen[place].caller && (seen[place].caller != caller || seen[place].size != size)) continue;
    seen[place].caller = caller;
    seen[place].size = size;
    seen[place].count++;
    break;
  }
  pthread_mutex_unlock(&lock);
  return allocate(size);
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("FRAMES");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  for (size_t place = 0; place < places; place++) {
    Dl_info found;
    if (!seen[place].caller || !dladdr(seen[place].caller, &found)) continue;
    fprintf(file, "%zu %lu %s 0x%lx\n", seen[place].size, seen[place].count, found.dli_fname,
            (unsigned long)((uintptr_t)seen[place].caller - (uintptr_t)found.dli_fbase));
  }
  fclose(file);
}
