// What SQLite alone takes for the rows of first grants: `rows --database FILE --grants N --batch N` writes into a server's database
// what N grants to as many devices write, so many in a commit, with statements that are prepared once and as durable as the
// server's, and its file system for logs unless `--plain` is said. It says a line of JSON: processor time of one grant in microseconds, and commits a second.
#define _GNU_SOURCE
#include "CSQLiteLog.h"

#include <getopt.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

static sqlite3 *database;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "rows: %s: %s\n", what, database ? sqlite3_errmsg(database) : "failed");
  exit(1);
}

static void run(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) die(sql);
}

static const char *const statements[] = {
    ("INSERT INTO grants (id, handle, store, environment, transaction_id, product, version, device, public_key, digest, length, "
     "manifest_digest, state, created) VALUES (lower(hex(?1)), ?1, 'store', 'Sandbox', ?2, ?3, '1.0', ?4, ?5, ?5, 1048576, ?5, "
     "'granted', ?6)"),
    "INSERT INTO grant_events (grant_number, state, at) VALUES (?7, 'granted', ?6)",
    "INSERT INTO obligations (store, environment, transaction_id, device, product) VALUES ('store', 'Sandbox', ?2, ?4, ?3)",
    ("INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity, customer) "
     "VALUES ('store', 'Sandbox', ?2, ?6, ?2, ?3, ?6, 1, ?1)"),
    "INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted) VALUES (?1, ?4, ?6, ?6, 1)",
    "INSERT INTO feeds (device, store, environment, customer, epoch, sequence, used) VALUES (?4, 'store', 'Sandbox', ?1, ?6, 0, ?6)",
    "INSERT INTO remembered_proofs (store, digest, device, environment, transactions, good) VALUES ('store', ?5, ?4, 'Sandbox', ?2, ?6)",
};

enum { statement_count = sizeof statements / sizeof *statements };

static void write_grant(sqlite3_stmt **prepared, long long number, const char *product) {
  uint8_t name[16], digest[32];
  if (getrandom(name + 1, sizeof name - 1, 0) < 0 || getrandom(digest, sizeof digest, 0) < 0) die("getrandom");
  name[0] = 0x40;  // the hour
  char transaction[32], device[32];
  snprintf(transaction, sizeof transaction, "%lld", 9000000000000000 + number);
  snprintf(device, sizeof device, "bare-%lld", number);
  long long row = 0;
  for (int index = 0; index < statement_count; index++) {
    sqlite3_stmt *statement = prepared[index];
    sqlite3_bind_blob(statement, 1, name, sizeof name, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, transaction, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, product, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 4, device, -1, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 5, digest, sizeof digest, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 6, 1790000000000 + number);
    sqlite3_bind_int64(statement, 7, row);
    if (sqlite3_step(statement) != SQLITE_DONE) die(statements[index]);
    if (index == 0) row = sqlite3_last_insert_rowid(database);
    sqlite3_reset(statement);
  }
}

static double processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words) {
  static const struct option names[] = {{"database", 1, 0, 'd'}, {"grants", 1, 0, 'g'}, {"batch", 1, 0, 'b'}, {"product", 1, 0, 'p'}, {"plain", 0, 0, 'l'}, {0}};
  const char *file_system = csqlitelog_file_system(), *path = NULL, *product = "com.example.bench.issue";
  long long grants = 2000, batch = 8;
  for (int option; (option = getopt_long(count, words, "", names, NULL)) != -1;) {
    switch (option) {
    case 'd': path = optarg; break;
    case 'g': grants = atoll(optarg); break;
    case 'b': batch = atoll(optarg); break;
    case 'p': product = optarg; break;
    case 'l': file_system = NULL; break;
    default: return 2;
    }
  }
  if (!path || batch < 1) return 2;
  if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, file_system) != SQLITE_OK) die(path);
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192; "
      "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY");
  sqlite3_stmt *prepared[statement_count];
  for (int index = 0; index < statement_count; index++) {
    if (sqlite3_prepare_v3(database, statements[index], -1, SQLITE_PREPARE_PERSISTENT, &prepared[index], NULL) != SQLITE_OK)
      die(statements[index]);
  }
  double before = processor_time();
  for (long long number = 0; number < grants; number++) {
    if (number % batch == 0) run("BEGIN IMMEDIATE");
    write_grant(prepared, number, product);
    if (number % batch == batch - 1 || number == grants - 1) run("COMMIT");
  }
  printf("{\"microseconds\":%.1f,\"batch\":%lld}\n", (processor_time() - before) * 1e6 / (double)grants, batch);
  return 0;
}
