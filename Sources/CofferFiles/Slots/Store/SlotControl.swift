import CofferCore
import CofferFileSystem
import CofferSQLite
import Foundation

/// The control directory beside a store, which holds its journal and its locks.
package struct SlotControl: Sendable {
  let directory: String
  /// The name of the store in error messages.
  let name: String

  var journal: String { directory + "/journal.db" }
  private var owners: String { directory + "/owners" }
  private var attributes: String { directory + "/attributes" }

  /// Opens an existing directory. Symbolic links in it are refused.
  init(_ directory: String, name: String) throws {
    self.directory = directory
    self.name = name
    guard FileCreation.makeDirectory(owners) == 0 || errno == EEXIST else { throw failure("mkdir", owners) }
    for path in [directory, owners] { try require(path, S_IFDIR, "a directory") }
    try requireJournalFiles()
  }

  /// Opens a directory for reading only. It may be missing; nothing is created.
  package init(readOnly directory: String, name: String) throws {
    self.directory = directory
    self.name = name
    guard try hasJournal() else { return }
    try require(directory, S_IFDIR, "a directory")
    try requireJournalFiles()
  }

  /// Returns why this user cannot write to a store, as the end of a sentence, or `nil` if no reason is found. Opens and
  /// creates nothing.
  /// - Parameter control: the path of its directory. If it is missing, its nearest existing parent is checked.
  static func obstacleToWriting(in control: String) -> String? {
    let what = "the directory of its journal"
    var path = control
    while access(path, F_OK) != 0, errno == ENOENT, PathParts(path).parent != path {
      path = PathParts(path).parent
    }
    if let reason = WriteRefusal.reason(path, W_OK | X_OK, path == control ? what : "its directory") { return reason }
    guard path == control else { return nil }
    let directories = ["owners", "staged", "retained", "quarantine"].lazy
    return directories.compactMap { WriteRefusal.reason("\(control)/\($0)", W_OK | X_OK, what) }.first
      ?? ["", "-wal", "-shm", "-wake"].lazy
      .compactMap { WriteRefusal.reason("\(control)/journal.db\($0)", R_OK | W_OK, "its journal") }.first
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
        .notAStore, "Expected \(what) at \(path), but found something else.",
        advice: "A symbolic link there is not followed. Move it away; the journal is rebuilt from the values.",
        location: name)
    }
  }

  private func failure(_ call: String, _ path: String) -> StorageError {
    .fileSystem(call, path: path, errno: errno, location: name)
  }

  // MARK: Journal

  /// Whether the journal exists. Throws if that cannot be determined, since a missing journal is rebuilt.
  func hasJournal() throws -> Bool {
    var status = stat()
    if lstat(journal, &status) == 0 { return status.st_size > 0 }
    guard errno == ENOENT else { throw failure("lstat", journal) }
    return false
  }

  /// Notes durably, before a value is committed that expires or has a version, that the journal has such attributes.
  func noteAttributes() throws {
    let file = FileCreation.open(attributes, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { throw failure("open", attributes) }
    close(file)
    try require(attributes, S_IFREG, "a file")
    try Directory(directory, location: name).sync()
  }

  /// Refuses a store without its journal if that had the expiry dates or the versions of values.
  package func requireNoLostAttributes() throws {
    var status = stat()
    guard lstat(attributes, &status) == 0 else {
      if errno == ENOENT { return }
      throw failure("lstat", attributes)
    }
    throw StorageError(
      .damaged, "The journal of the store is missing, and with it the expiry dates and the versions of its values.",
      advice: """
        Nothing was changed. Put the journal back from a copy. To accept that expired values are present again and \
        migrated ones count as unversioned, delete \(attributes.escapingControlCharacters).
        """, location: name)
  }

  /// Acquires the lock under which one process at a time looks for the journal and creates it. Without it, a second
  /// process could move the write-ahead log of the new journal aside.
  func beginOpening(busyTimeout: Int) throws -> LockFile {
    if let lock = try LockFile(directory: directory, .patient(milliseconds: busyTimeout), location: name) {
      return lock
    }
    throw StorageError(
      .busy, "Another process has been opening the store for too long.",
      advice: "Try again, or look for a process that holds a lock on \(directory.escapingControlCharacters).",
      location: name)
  }

  /// Renames the leftover files of a deleted journal, which mean nothing without it. Files renamed earlier are kept.
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

  /// Acquires an owner lock under a random number. While it is held, values staged under this number belong to a living
  /// handle.
  func becomeOwner() throws -> (lock: LockFile, id: UInt64) {
    while true {
      let id = UInt64.random(in: .min ... .max)
      let lock = try LockFile(owners + "/" + id.hexadecimal, .exclusive, location: name)
      // Another process may have removed it as stale between its creation and its locking.
      if let lock, lock.isAtPath { return (lock, id) }
    }
  }

  /// Whether the handle with this number no longer exists.
  func isGone(_ owner: UInt64) -> Bool { !LockFile.isHeld(owners + "/" + owner.hexadecimal) }

  /// Whether a living handle other than the one with this number has the store open.
  func hasOwners(besides own: UInt64) throws -> Bool {
    let files = try Directory(owners, location: name).fileNames()
    return files.contains { $0 != own.hexadecimal && LockFile.isHeld(owners + "/" + $0) }
  }

  /// Removes the lock files of handles that no longer exist.
  func forgetGoneOwners() {
    // Files that cannot be listed now are left to the next open.
    for file in (try? Directory(owners, location: name).fileNames()) ?? [] {
      let path = owners + "/" + file
      if let lock = try? LockFile(path, .exclusive, location: name) { lock.remove() }
    }
  }

  // MARK: Snapshots

  /// Acquires the shared lock that signals an open snapshot to every process while it is held.
  func announceSnapshot() throws -> LockFile? { try LockFile(directory: owners, .shared, location: name) }

  /// Whether a snapshot is open in any process.
  var hasSnapshots: Bool { LockFile.isHeld(directory: owners) }
}
