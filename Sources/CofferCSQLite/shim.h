#pragma once
#include <sqlite3.h>
#include <string.h>

// What Swift cannot import: variadic functions, and calls through a sqlite3_file's method table.

static inline sqlite3_file *coffer_sqlite_log_file(sqlite3 *db) {
  sqlite3_file *file = NULL;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return NULL;
  return file && file->pMethods ? file : NULL;
}

// The size of the write-ahead log in bytes, or -1 when it is not open.
static inline sqlite3_int64 coffer_sqlite_log_size(sqlite3 *db) {
  sqlite3_file *file = coffer_sqlite_log_file(db);
  sqlite3_int64 size = 0;
  if (!file || file->pMethods->xFileSize(file, &size) != SQLITE_OK) return -1;
  return size;
}

// Makes all commits so far survive power loss, as synchronous=FULL does after each commit.
static inline int coffer_sqlite_log_sync(sqlite3 *db) {
  sqlite3_file *file = coffer_sqlite_log_file(db);
  return file ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : SQLITE_OK;
}

// Appends zeros to the write-ahead log up to `target` bytes and syncs it. The caller holds the write lock, so that
// nobody else appends; recovery stops at the first frame without a valid checksum, so zeros are never read as frames.
static inline int coffer_sqlite_log_extend(sqlite3 *db, sqlite3_int64 target) {
  static const char zeros[65536] = {0};
  sqlite3_file *file = coffer_sqlite_log_file(db);
  sqlite3_int64 size = 0;
  if (!file) return SQLITE_OK;
  int code = file->pMethods->xFileSize(file, &size);
  while (code == SQLITE_OK && size < target) {
    sqlite3_int64 rest = target - size;
    int count = rest < (sqlite3_int64)sizeof zeros ? (int)rest : (int)sizeof zeros;
    code = file->pMethods->xWrite(file, zeros, count, size);
    size += count;
  }
  return code == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : code;
}

// Changes with every commit, own ones included; costs 50 ns, no statement.
static inline unsigned int coffer_sqlite_data_version(sqlite3 *db) {
  unsigned int version = 0;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

static inline int coffer_sqlite_defensive(sqlite3 *db) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

// Whether a result code says that the device did not confirm a write. (The codes are macros over macros.)
static inline int coffer_sqlite_is_lost_sync(int code) {
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}
