// Preloaded into a program that is started on what a power cut has left: NEXTBOOT_FILE names what it reads in place of the machine's boot
// identifier, so that the machine seems to have started anew. With NEXTBOOT_PLAIN_LOG no file system of its own is registered at SQLite, and a
// database is written with SQLite's.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static const char *place_of(const char *path) {
  const char *file = getenv("NEXTBOOT_FILE");
  return file && path && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? file : path;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    static int (*real)(const char *, int, ...) = NULL; \
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
    va_list arguments; \
    va_start(arguments, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments); \
    return real(place_of(path), flags, mode); \
  }

#define OPEN_AT(name) \
  int name(int directory, const char *path, int flags, ...) { \
    static int (*real)(int, const char *, int, ...) = NULL; \
    if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name); \
    va_list arguments; \
    va_start(arguments, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments); \
    return real(directory, place_of(path), flags, mode); \
  }

OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

int sqlite3_vfs_register(sqlite3_vfs *file_system, int is_default) {
  static int (*real)(sqlite3_vfs *, int) = NULL;
  if (!real) real = (int (*)(sqlite3_vfs *, int))dlsym(RTLD_NEXT, "sqlite3_vfs_register");
  if (getenv("NEXTBOOT_PLAIN_LOG") && strcmp(file_system->zName, "unix-gathering") == 0) return SQLITE_NOMEM;
  return real(file_system, is_default);
}
