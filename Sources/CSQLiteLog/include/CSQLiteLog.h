#ifndef PULLBOX_CSQLITELOG_H
#define PULLBOX_CSQLITELOG_H

#include <sqlite3.h>

// Registers a file system for SQLite that is the default one, but for write-ahead logs: what is written to one is gathered and
// leaves with few system calls, at the latest when the log is synchronized. SQLite writes each page with two calls, which
// otherwise cost more than the bytes.
//
// It is for the one connection that writes, and with `PRAGMA synchronous = FULL` only: then SQLite synchronizes the log at the end of
// every commit before it lets other connections see the pages; without that they would read what is still gathered here.
//
// Answers its name, or a null pointer where SQLite has no default file system.
const char *csqlitelog_file_system(void);

// Forgets what of the connection's log is gathered: it belongs to a transaction that was rolled back. Were it written later, it
// could need space that there is not, or be taken for a commit after a crash. Does nothing for another file system.
void csqlitelog_forget(sqlite3 *database);

#endif
