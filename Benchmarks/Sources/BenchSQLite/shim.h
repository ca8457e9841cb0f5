#pragma once
#include <sqlite3.h>

static inline int bench_keep_log(sqlite3 *db) {
  int on = 1;
  return sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
}
