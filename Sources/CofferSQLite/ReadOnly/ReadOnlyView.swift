import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// The readers of a store that is open for reading only, for one state of its files.
final class ReadOnlyView: Sendable {
  let file: StoreFile
  let readers: ReaderPool
  private let mode: ReadingMode
  private let files: FileStates

  /// Opens the files in their present state, with SQLite's locks if they can be taken.
  init(_ asked: StoreFile, onDamage: @escaping @Sendable (Finding) -> Void) throws {
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
      (self.file, self.mode, self.files) = (file, mode, files)
      readers = ReaderPool { [file] in try Reader(file, onDamage: onDamage) }
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

  deinit { readers.close(StorageError.closed(file.description)) }
}

extension StorageError {
  /// Whether a file could not be opened, mapped or locked, which does not imply damage.
  fileprivate var isAboutAccess: Bool { [.permissionDenied, .inputOutput, .busy, .diskFull].contains(code) }
}

// MARK: Past damaged pages

extension ReadOnlyView {
  /// Reads a key on a damaged page.
  func salvage(_ key: KeyName, after error: any Error) throws -> StoreEntry? {
    let page = try StorageError.damagedPage(error)
    let reader = try salvagingReader()
    return try reader.salvage(key, page) { try reader.proveRows() }
  }

  /// Reads a system record on a damaged page.
  func salvage(_ name: SystemRecord.Name, after error: any Error) throws -> SystemRecord {
    let page = try StorageError.damagedPage(error)
    return try salvagingReader().salvage(name, page)
  }

  /// Lists keys on damaged pages, if count and digest prove that no row is missing.
  func salvageList<R>(
    after error: any Error, needsWholeRows: Bool, _ list: (Reader) throws -> R
  ) throws -> R {
    let page = try StorageError.damagedPage(error)
    guard let reader = try? salvagingReader(), let proof = try? reader.proveRows(), proof.isComplete, proof.isOrdered,
      proof.damaged == 0 || !needsWholeRows
    else { throw page }
    return try list(reader)
  }

  private func salvagingReader() throws -> Reader {
    var file = file
    file.ignoresPageFaults = true
    return try Reader(file) { _ in }
  }
}
