// Writes to a database as the delivery server does, through the file system of Sources/CSQLiteLog or, with --plain, SQLite's own: `power_log
// FILE [--plain] < STEPS`. A step is a line; its number is printed once it is done:
//
//   W SQL          on the connection that writes: it gathers its log
//   U SQL          the same, and what of the log is gathered is forgotten, as after a transaction that was undone
//   C MODE         a checkpoint (0 passive, 2 restart, 3 truncate), on a connection of its own
//   O              both connections are closed and opened again
//   X              the writer alone is closed in the middle of its transaction, which SQLite undoes

#include "CSQLiteLog.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sqlite3 *writer, *other;
static const char *path, *file_system;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "power_log: %s: %s\n", what, writer ? sqlite3_errmsg(writer) : "failed");
  exit(1);
}

static sqlite3 *open_with(const char *name) {
  sqlite3 *database = NULL;
  if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, name) != SQLITE_OK) die(path);
  if (sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 4194304; "
                             "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 24; PRAGMA temp_store = MEMORY",
                   NULL, NULL, NULL) != SQLITE_OK)
    die("the settings");
  return database;
}

static void step(const char *line) {
  const char *sql = line + 2;
  switch (line[0]) {
  case 'W':
  case 'U':
    if (sqlite3_exec(writer, sql, NULL, NULL, NULL) != SQLITE_OK) die(sql);
    if (line[0] == 'U') csqlitelog_forget(writer);
    break;
  case 'C': sqlite3_wal_checkpoint_v2(other, NULL, atoi(sql), NULL, NULL); break;
  case 'O':
    sqlite3_close(other);
    sqlite3_close(writer);
    writer = open_with(file_system);
    other = open_with(NULL);
    break;
  case 'X':
    sqlite3_close(writer);
    writer = open_with(file_system);
    break;
  default: die("an unknown step");
  }
}

int main(int count, char **words) {
  if (count < 2) return 2;
  path = words[1];
  file_system = csqlitelog_file_system();
  if (!file_system) die("there is no such file system");
  if (count > 2 && strcmp(words[2], "--plain") == 0) file_system = NULL;
  writer = open_with(file_system);
  other = open_with(NULL);
  char *line = NULL, told[32];
  size_t room = 0;
  for (long number = 0; getline(&line, &room, stdin) > 0; number++) {
    line[strcspn(line, "\n")] = 0;
    step(line);
    int length = snprintf(told, sizeof told, "%ld\n", number);
    if (write(STDOUT_FILENO, told, (size_t)length) != length) return 1;
  }
  free(line);
  return 0;
}
