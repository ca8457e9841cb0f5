#pragma once
#include <sqlite3.h>

// Reserves bytes at the end of each page of an empty database.
static inline void bench_sqlite_reserve(sqlite3 *db, int bytes) {
  sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}
