import CofferCSQLite
import CofferCore
import Foundation

extension SQLiteEngine {
  /// Opens a store for reading only if the configuration requires it, or allows it and writing is not possible.
  /// - Parameter error: The error of opening it for writing; `nil` before that was tried.
  /// - Returns: `nil` if the store is to be opened for writing, or if opening it failed for another reason.
  static func readOnly(
    _ path: String, _ configuration: SQLiteEngine.Configuration, after error: StorageError?
  ) throws -> SQLiteEngine? {
    let isForced = configuration.access == .readOnly
    guard isForced || configuration.access == .readWriteOrReadOnly else { return nil }
    if let error, ![.permissionDenied, .inputOutput, .diskFull].contains(error.code) { return nil }
    func open(_ reason: String) throws -> SQLiteEngine {
      try openBlocking(at: path, configuration: configuration, readOnlyBecause: reason)
    }
    if isForced { return try open(StorageError.readOnlyRequest) }
    guard let reason = obstacle(at: path, after: error) else { return nil }
    do {
      return try open(reason)
    } catch let failure as StorageError {
      guard failure.code == .notFound, let error else { throw failure }
      throw error  // No store exists, and none can be created.
    }
  }

  /// Returns why this user cannot write, as the end of a sentence, or `nil`. The permissions of an existing file are
  /// checked at once, those of its directory only after a failure, since a store with all its files creates none.
  private static func obstacle(at path: String, after error: StorageError?) -> String? {
    let url = URL(fileURLWithPath: path)
    if let reason = WriteRefusal.reason(url.path, W_OK, "the file") { return reason }
    guard let error else { return nil }
    if error.code == .diskFull { return "no space is left on its device." }
    return WriteRefusal.reason(
      url.resolvingSymlinksInPath().deletingLastPathComponent().path, W_OK | X_OK, "its directory")
  }
}

extension History {
  /// Returns the loss recorded in the database, joined with the commits that a wake-up file announces beyond it.
  func loss(knowing words: WakeWords?, foundAt now: Date) -> LossReport? {
    guard let words, words.store == store, let announced = words.announced, announced > revision else { return loss }
    let found = LossReport(
      after: revision, upTo: announced, durableUpTo: min(announced, words.durable ?? .zero), foundAt: now)
    return loss.map { $0.joined(found) } ?? found
  }
}

extension Connection {
  /// The largest value that fits into a row, in bytes: SQLite limits the whole row, and the other columns fit a page.
  var maximumValueSize: Int { Int(sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1)) - 4_096 }
}
