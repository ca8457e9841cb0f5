import CofferCore
import CofferFileSystem
import CofferSQLite
import Foundation

/// The directory beside a home where its journal and its locks are.
struct SlotControl: Sendable {
  let directory: String
  /// How messages call the store.
  let name: String

  var journal: String { directory + "/journal.db" }
  private var owners: String { directory + "/owners" }
  private var snapshots: String { directory + "/snapshots" }

  /// Uses a directory that exists, never following a link that was planted in it.
  init(_ directory: String, name: String) throws {
    self.directory = directory
    self.name = name
    guard mkdir(owners, 0o700) == 0 || errno == EEXIST else { throw failure("mkdir", owners) }
    for path in [directory, owners] { try require(path, S_IFDIR, "a directory") }
    try requireJournalFiles()
  }

  /// Looks at a directory that may be missing, and makes nothing.
  init(readOnly directory: String, name: String) throws {
    self.directory = directory
    self.name = name
    guard try hasJournal() else { return }
    try require(directory, S_IFDIR, "a directory")
    try requireJournalFiles()
  }

  private func requireJournalFiles() throws {
    for suffix in ["", "-wal", "-shm", "-wake", "-lock"] { try require(journal + suffix, S_IFREG, "a file") }
  }

  private func require(_ path: String, _ kind: mode_t, _ what: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT, kind == S_IFREG else { throw failure("lstat", path) }
      return
    }
    guard status.st_mode & S_IFMT == kind else {
      throw StorageError(
        .notAStore, "There should be \(what) at \(path), and there is something else.",
        advice: "A symbolic link there is not followed. Move it away; the journal is made anew from the values.",
        backend: name)
    }
  }

  private func failure(_ call: String, _ path: String) -> StorageError {
    .fileSystem(call, path: path, errno: errno, backend: name)
  }

  // MARK: Journal

  /// Whether the journal is there. Throws where that cannot be told: a journal that is taken for lost is made anew.
  func hasJournal() throws -> Bool {
    var status = stat()
    if lstat(journal, &status) == 0 { return status.st_size > 0 }
    guard errno == ENOENT else { throw failure("lstat", journal) }
    return false
  }

  /// One process at a time looks for the journal and makes it: another would move the new one's log aside.
  func beginOpening(busyTimeout: Int) throws -> LockFile {
    let path = directory + "/opening"
    if let lock = try LockFile(path, .patient(milliseconds: busyTimeout), backend: name) { return lock }
    throw StorageError(
      .busy, "Another process has been opening the store for too long.",
      advice: "Try again, or look for a process that hangs.", backend: name)
  }

  /// Moves aside what belongs to a journal that somebody has deleted: it means nothing without it. What was lost before
  /// is kept.
  func setLeftoversAside() throws {
    for suffix in ["-wal", "-shm", "-wake"] {
      let path = journal + suffix
      var (target, number) = (path + ".lost", 1)
      while access(target, F_OK) == 0 {
        number += 1
        target = path + ".lost-\(number)"
      }
      guard rename(path, target) == 0 || errno == ENOENT else { throw failure("rename", path) }
    }
  }

  // MARK: Owners

  /// A lock under a fresh number: as long as it is held, what this number has put aside belongs to a living handle.
  func becomeOwner() throws -> (lock: LockFile, id: UInt64) {
    while true {
      let id = UInt64.random(in: .min ... .max)
      let lock = try LockFile(owners + "/" + id.hexadecimal, .exclusive, backend: name)
      // Between its making and its locking somebody may have taken it for a dead one's.
      if let lock, lock.isAtPath { return (lock, id) }
    }
  }

  /// Whether the handle of that number is gone.
  func isGone(_ owner: UInt64) -> Bool { !LockFile.isHeld(owners + "/" + owner.hexadecimal) }

  /// Whether another handle than that of this number lives.
  func hasOwners(besides own: UInt64) throws -> Bool {
    let files = try Directory(owners, backend: name).fileNames()
    return files.contains { $0 != own.hexadecimal && LockFile.isHeld(owners + "/" + $0) }
  }

  /// Removes the signs of life of the dead.
  func forgetGoneOwners() {
    // Those that cannot be listed now stay for the next open.
    for file in (try? Directory(owners, backend: name).fileNames()) ?? [] {
      let path = owners + "/" + file
      if let lock = try? LockFile(path, .exclusive, backend: name) { lock.remove() }
    }
  }

  // MARK: Snapshots

  /// Says, as long as it lives, that a snapshot is open.
  func announceSnapshot() throws -> LockFile? { try LockFile(snapshots, .shared, backend: name) }

  /// Whether a snapshot is open in any process.
  var hasSnapshots: Bool { LockFile.isHeld(snapshots) }
}
