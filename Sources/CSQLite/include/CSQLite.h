/// SQLite, and the calls that Swift cannot make itself because they are variadic.
#ifndef CSQLite_SHIM_H
#define CSQLite_SHIM_H
#include <sqlite3.h>

/// Treats the file as hostile: SQLITE_DBCONFIG_DEFENSIVE on, SQLITE_DBCONFIG_TRUSTED_SCHEMA off, triggers and views off.
void csqlite_harden(sqlite3 *connection);

/// Leaves the database and its write-ahead log as they are when the connection is closed (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE).
void csqlite_no_checkpoint_on_close(sqlite3 *connection);
#endif
