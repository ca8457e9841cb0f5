#pragma once
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

// Wrappers for what Swift cannot import: variadic functions, and calls through the method table of a sqlite3_file.

// Result codes defined by nested macros, which Swift does not import.
static const int coffer_sqlite_damaged_page = SQLITE_IOERR_DATA;
static const int coffer_sqlite_short_read = SQLITE_IOERR_SHORT_READ;
static const int coffer_sqlite_failed_read = SQLITE_IOERR_READ;

static inline sqlite3_file *coffer_sqlite_log_file(sqlite3 *db) {
  sqlite3_file *file = NULL;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return NULL;
  return file && file->pMethods ? file : NULL;
}

// Returns the size of the write-ahead log in bytes, or -1 if it is not open.
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

// Extends the write-ahead log with zeros to `target` bytes and syncs it. The caller must hold the write lock, which
// excludes other writers. Recovery stops at the first frame without a valid checksum, so zeros are never frames to it.
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

// The log state in the shared-memory index (sqlite.org/walformat.html, "The WAL-Index File Format").
typedef struct {
  unsigned int frames;    // committed frames since the log was last restarted
  unsigned int copied;    // frames that a checkpoint has copied into the database
  unsigned int marks[5];  // the last frame that the readers under each lock see; 0xFFFFFFFF: none
} coffer_sqlite_log;

// Reads the state of the log; returns 0 if there is none. `copied` is read first: a commit that restarts the log stores
// the new `frames` before it sets `copied` to 0, so `copied < frames` in the result also holds at this moment.
static inline int coffer_sqlite_log_state(sqlite3 *db, coffer_sqlite_log *log) {
  sqlite3_file *file = NULL;
  void volatile *index = NULL;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return 0;
  if (!file || !file->pMethods || file->pMethods->iVersion < 2) return 0;
  if (file->pMethods->xShmMap(file, 0, 32768, 0, &index) != SQLITE_OK || !index) return 0;
  const unsigned int *words = (const unsigned int *)index;
  log->copied = __atomic_load_n(words + 24, __ATOMIC_SEQ_CST);
  log->frames = __atomic_load_n(words + 4, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 5; i++) log->marks[i] = __atomic_load_n(words + 25 + i, __ATOMIC_SEQ_CST);
  return 1;
}

// Returns a number that changes with every commit, including those of this connection. Takes 50 ns and no statement.
static inline unsigned int coffer_sqlite_data_version(sqlite3 *db) {
  unsigned int version = 0;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

// Whether the log is left as it is on close, even by the last connection.
static inline int coffer_sqlite_leave_log(sqlite3 *db, int leaves) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves, (int *)0);
}

// Whether the path of an open database now refers to another file, or to none.
static inline int coffer_sqlite_has_moved(sqlite3 *db) {
  int has_moved = 0;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return has_moved;
}

// Keeps SQL from corrupting the database, and its schema from calling functions that have effects.
static inline void coffer_sqlite_defensive(sqlite3 *db) {
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

// Whether a result code means that the device did not confirm a write. (The codes are defined by nested macros.)
static inline int coffer_sqlite_is_lost_sync(int code) {
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

// The checksum of SQLite's write-ahead log and of its checksum VFS: two sums over pairs of 32-bit words, little-endian
// unless `swapped`. `count` is a multiple of 8.
static inline void coffer_sqlite_checksum(const void *bytes, int count, int swapped, uint32_t *s1, uint32_t *s2) {
  const uint8_t *at = (const uint8_t *)bytes, *end = at + count;
  uint32_t a = *s1, b = *s2, x, y;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  swapped = !swapped;
#endif
  if (swapped) {
    for (; at < end; at += 8) {
      memcpy(&x, at, 4);
      memcpy(&y, at + 4, 4);
      a += __builtin_bswap32(x) + b;
      b += __builtin_bswap32(y) + a;
    }
  } else {
    for (; at < end; at += 8) {
      memcpy(&x, at, 4);
      memcpy(&y, at + 4, 4);
      a += x + b;
      b += y + a;
    }
  }
  *s1 = a;
  *s2 = b;
}

static inline sqlite3_file *coffer_sqlite_main_file(sqlite3 *db) {
  sqlite3_file *file = NULL;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return NULL;
  return file && file->pMethods ? file : NULL;
}

// Reserves this many bytes at the end of each page. It takes effect in an empty database, or with the next VACUUM.
static inline int coffer_sqlite_reserve(sqlite3 *db, int bytes) {
  return sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

// Takes or releases the lock that lets one connection at a time copy the log into the database.
static inline int coffer_sqlite_checkpoint_lock(sqlite3 *db, int take) {
  sqlite3_file *file = coffer_sqlite_main_file(db);
  if (!file || file->pMethods->iVersion < 2) return SQLITE_MISUSE;
  int flags = (take ? SQLITE_SHM_LOCK : SQLITE_SHM_UNLOCK) | SQLITE_SHM_EXCLUSIVE;
  return file->pMethods->xShmLock(file, 1, 1, flags);
}
