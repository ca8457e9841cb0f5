import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// The readers of a store that is open for reading only, for one state of its files.
final class ReadOnlyView: StoreView {
  let file: StoreFile
  let readers: ReaderPool
  let quarantine: Quarantine
  let provenRows = Locked<RowProof?>(nil)
  private let mode: ReadingMode
  private let files: FileStates

  /// Opens the files in their present state, with SQLite's locks if they can be taken.
  init(_ asked: StoreFile, _ quarantine: Quarantine) throws {
    let files = try Self.settled(asked)
    let modes = Self.modes(of: files, asked)
    var failure: (any Error)?
    for mode in modes where mode != .locked || files.hasIndex || files.hasRollback {
      var file = asked
      file.reading = mode
      file.allowsUnsealedPages = asked.mayHaveUnsealedPages
      do {
        guard mode != .withLog || UnlockedVFS.registration == SQLITE_OK else { continue }
        try Schema.checkReadable(Connection(file))
      } catch let error as StorageError where mode == .locked && !files.hasRollback && error.isAboutAccess {
        failure = error
        continue
      }
      (self.file, self.mode, self.files, self.quarantine) = (file, mode, files, quarantine)
      readers = ReaderPool { [file] in try Reader(file, onDamage: quarantine.report) }
      return
    }
    throw failure
      ?? StorageError(
        .unavailable, "The store has a write-ahead log that cannot be read without creating its index.",
        advice: "Open the store once with write access.", location: asked.description)
  }

  /// Returns the modes to try, the best first.
  private static func modes(of files: FileStates, _ file: StoreFile) -> [ReadingMode] {
    // If another program ended during a transaction, SQLite reports that the database cannot be read.
    if files.hasRollback { return [.locked] }
    let unlocked: ReadingMode = files.hasLog ? .withLog : .withoutLog
    // SQLite would create a missing log, and rebuild an index that nobody uses, which a killed process has left.
    guard files.log != nil, LockHolder.isIndexUsed(of: file) ?? files.hasLog else { return [unlocked] }
    return [.locked, unlocked]
  }

  /// Returns the state of the files once their dates are reliable; waits up to 0.2 s.
  private static func settled(_ file: StoreFile) throws -> FileStates {
    var files = try FileStates(of: file)
    for _ in 0..<40 where !files.isSettled {
      var pause = timespec(tv_sec: 0, tv_nsec: 5_000_000)
      nanosleep(&pause, nil)
      files = try FileStates(of: file)
    }
    return files
  }

  /// Whether reads through this view return the present state of the store.
  func isCurrent() throws -> Bool {
    let present = try FileStates(of: file)
    return mode.takesLocks ? present.database.inode == files.database.inode : present == files
  }

  func requireUnchanged() throws {
    guard try isCurrent() else { throw StorageError.changedMeanwhile(file.description) }
  }

  deinit { readers.close(StorageError.closed(file.description)) }
}

extension StorageError {
  /// Whether a file could not be opened, mapped or locked, which does not imply damage.
  fileprivate var isAboutAccess: Bool { [.permissionDenied, .inputOutput, .busy, .diskFull].contains(code) }

  /// The error of a read during which the store kept changing, where SQLite's locks cannot be taken.
  static func changedMeanwhile(_ location: String) -> StorageError {
    StorageError(
      .unavailable, "The store changed while it was read, and locks that would prevent that are not available.",
      advice: "Read again with a new snapshot.", location: location)
  }
}
