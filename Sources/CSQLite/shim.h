#ifndef PULLBOX_CSQLITE_SHIM_H
#define PULLBOX_CSQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
  return length == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                     : sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

// sqlite3_db_config is variadic.
static inline int csqlite_set_option(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

// Without the count of all memory, which every allocation would take a lock for. Before the first connection.
static inline int csqlite_configure(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static inline int csqlite_note_pages(void *pages, sqlite3 *database, const char *name, int count) {
  (void)database;
  (void)name;
  *(int *)pages = count;
  return SQLITE_OK;
}

// After every commit that writes, `pages` has the number of pages in the write-ahead log. Takes the place of the
// checkpoints that SQLite would make.
static inline void csqlite_watch_log(sqlite3 *database, int *pages) {
  sqlite3_wal_hook(database, csqlite_note_pages, pages);
}

#endif
