import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// The readers of a store that cannot be written, for one state of its files.
final class ReadOnlyView: Sendable {
  let place: StorePlace
  let readers: ReaderPool
  private let mode: ReadingMode
  private let files: FileStates

  /// Opens the files as they are now, with SQLite's locks where those can be taken.
  init(_ asked: StorePlace, onDamage: @escaping @Sendable (Finding) -> Void) throws {
    let files = try Self.settled(asked)
    // Where another program has died in the middle of a transaction, SQLite says that it cannot be read.
    let modes: [ReadingMode] = files.hasRollback ? [.locked] : files.hasLog ? [.locked, .withLog] : [.withoutLog]
    var failure: (any Error)?
    for mode in modes where mode != .locked || files.hasIndex || files.hasRollback {
      var place = asked
      place.reading = mode
      place.allowsUnsealedPages = asked.mayHaveUnsealedPages
      do {
        guard mode != .withLog || UnlockedVFS.registration == SQLITE_OK else { continue }
        try Schema.checkReadable(Connection(place))
      } catch let error as StorageError where mode == .locked && !files.hasRollback && error.isAboutAccess {
        failure = error
        continue
      }
      (self.place, self.mode, self.files) = (place, mode, files)
      readers = ReaderPool { [place] in try Reader(place, onDamage: onDamage) }
      return
    }
    throw failure
      ?? StorageError(
        .unavailable, "The store has a write-ahead log that cannot be read without writing beside it.",
        advice: "Open the store once where it may be written.", backend: asked.description)
  }

  /// The state of the files, once their dates can be trusted.
  private static func settled(_ place: StorePlace) throws -> FileStates {
    var files = try FileStates(of: place)
    for _ in 0..<40 where !files.isSettled {
      var pause = timespec(tv_sec: 0, tv_nsec: 5_000_000)
      nanosleep(&pause, nil)
      files = try FileStates(of: place)
    }
    return files
  }

  /// Whether what is read through this view is the present state of the store.
  func isCurrent() throws -> Bool {
    let present = try FileStates(of: place)
    return mode.takesLocks ? present.database.inode == files.database.inode : present == files
  }

  deinit { readers.close(StorageError.closed(place.description)) }
}

extension StorageError {
  /// Whether a file could not be opened, mapped or locked, which says nothing of its content.
  fileprivate var isAboutAccess: Bool { [.permissionDenied, .inputOutput, .busy, .diskFull].contains(code) }
}

// MARK: Past damaged pages

extension ReadOnlyView {
  /// Reads a key on a damaged page.
  func salvage(_ key: StoreKey, after error: any Error) throws -> StoreEntry? {
    let page = try StorageError.damagedPage(error)
    let reader = try salvagingReader()
    return try reader.salvage(key, page) { try reader.proveRows() }
  }

  /// Lists keys on damaged pages, if count and digest prove that all rows are there.
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
    var place = place
    place.ignoresPageFaults = true
    return try Reader(place) { _ in }
  }
}
