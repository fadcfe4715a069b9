#include "CSQLiteLog.h"

#include <sqlite3.h>
#include <string.h>

// Bytes that are gathered. SQLite's file system for Unix takes a length modulo 128 KiB.
enum { capacity = 124 * 1024 };

static sqlite3_vfs file_system, *below;

// A log. The default file system's file follows in the same block of memory.
struct log {
  sqlite3_file base;
  sqlite3_file *file;
  unsigned char *gathered;
  // Where in the file they belong.
  sqlite3_int64 start;
  int count;
};

static struct log *log_of(sqlite3_file *file) { return (struct log *)file; }

// What could not be written stays, and is written again before anything else is: were a transaction to go on after a page that could
// not be read back, its commit must not lack what came before. With the transaction it goes (csqlitelog_forget).
static int write_out(struct log *log) {
  if (log->count == 0) return SQLITE_OK;
  int result = log->file->pMethods->xWrite(log->file, log->gathered, log->count, log->start);
  if (result == SQLITE_OK) log->count = 0;
  return result;
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 start) {
  struct log *log = log_of(file);
  if (log->count > 0 && (start < log->start || start > log->start + log->count || start + count > log->start + capacity)) {
    int result = write_out(log);
    if (result != SQLITE_OK) return result;
  }
  // A page has at most 64 KiB.
  if (count > capacity) return SQLITE_IOERR_WRITE;
  if (log->count == 0) log->start = start;
  // A page that was changed again takes its place, as does what comes after a savepoint that was undone.
  int offset = (int)(start - log->start);
  memcpy(log->gathered + offset, bytes, (size_t)count);
  if (offset + count > log->count) log->count = offset + count;
  return SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int count, sqlite3_int64 start) {
  struct log *log = log_of(file);
  int result = write_out(log);
  return result == SQLITE_OK ? log->file->pMethods->xRead(log->file, bytes, count, start) : result;
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 length) {
  struct log *log = log_of(file);
  int result = write_out(log);
  return result == SQLITE_OK ? log->file->pMethods->xTruncate(log->file, length) : result;
}

static int synchronize_log(sqlite3_file *file, int flags) {
  struct log *log = log_of(file);
  int result = write_out(log);
  return result == SQLITE_OK ? log->file->pMethods->xSync(log->file, flags) : result;
}

static int log_length(sqlite3_file *file, sqlite3_int64 *length) {
  struct log *log = log_of(file);
  int result = write_out(log);
  return result == SQLITE_OK ? log->file->pMethods->xFileSize(log->file, length) : result;
}

// What is gathered now belongs to no commit, for each is synchronized: a log that stays must not end with it.
static int close_log(sqlite3_file *file) {
  struct log *log = log_of(file);
  int closed = log->file->pMethods->xClose(log->file);
  sqlite3_free(log->gathered);
  return closed;
}

static int lock_log(sqlite3_file *file, int level) {
  sqlite3_file *real = log_of(file)->file;
  return real->pMethods->xLock(real, level);
}

static int unlock_log(sqlite3_file *file, int level) {
  sqlite3_file *real = log_of(file)->file;
  return real->pMethods->xUnlock(real, level);
}

static int check_reserved_lock(sqlite3_file *file, int *is_reserved) {
  sqlite3_file *real = log_of(file)->file;
  return real->pMethods->xCheckReservedLock(real, is_reserved);
}

static int control_log(sqlite3_file *file, int operation, void *argument) {
  sqlite3_file *real = log_of(file)->file;
  return real->pMethods->xFileControl(real, operation, argument);
}

static int sector_size(sqlite3_file *file) {
  sqlite3_file *real = log_of(file)->file;
  return real->pMethods->xSectorSize(real);
}

static int device_characteristics(sqlite3_file *file) {
  sqlite3_file *real = log_of(file)->file;
  return real->pMethods->xDeviceCharacteristics(real);
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_log,
    .xRead = read_log,
    .xWrite = write_log,
    .xTruncate = truncate_log,
    .xSync = synchronize_log,
    .xFileSize = log_length,
    .xLock = lock_log,
    .xUnlock = unlock_log,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_log,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
};

static int open_file(sqlite3_vfs *unused, const char *name, sqlite3_file *file, int flags, int *out_flags) {
  (void)unused;
  if (!(flags & SQLITE_OPEN_WAL)) return below->xOpen(below, name, file, flags, out_flags);
  struct log *log = log_of(file);
  memset(log, 0, sizeof *log);
  log->gathered = sqlite3_malloc(capacity);
  if (!log->gathered) return SQLITE_NOMEM;
  log->file = (sqlite3_file *)(log + 1);
  memset(log->file, 0, (size_t)below->szOsFile);
  int result = below->xOpen(below, name, log->file, flags, out_flags);
  if (result != SQLITE_OK) {
    if (log->file->pMethods) log->file->pMethods->xClose(log->file);
    sqlite3_free(log->gathered);
    return result;
  }
  log->base.pMethods = &methods;
  return SQLITE_OK;
}

const char *csqlitelog_file_system(void) {
  static const char name[] = "unix-gathering";
  if (sqlite3_vfs_find(name)) return name;
  below = sqlite3_vfs_find(NULL);
  if (!below) return NULL;
  file_system = *below;
  file_system.pNext = NULL;
  file_system.zName = name;
  file_system.szOsFile = below->szOsFile + (int)sizeof(struct log);
  file_system.xOpen = open_file;
  return sqlite3_vfs_register(&file_system, 0) == SQLITE_OK ? name : NULL;
}

void csqlitelog_forget(sqlite3 *database) {
  sqlite3_file *file = NULL;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK || !file) return;
  if (file->pMethods == &methods) log_of(file)->count = 0;
}
