import CofferCSQLite
import CofferCore
import CofferLocks
import Foundation

extension ReadOnlyStore {
  /// Opens a store for reading only, where that is wanted or all that can be had.
  /// - Parameter error: why it could not be opened for writing; `nil` before that was tried.
  /// - Returns: `nil` where it is to be opened for writing, or could not be opened because of something else.
  static func instead(
    of path: String, _ configuration: SQLiteConfiguration, after error: StorageError?
  ) async throws -> ReadOnlyStore? {
    let isForced = configuration.access == .readOnly
    guard isForced || configuration.access == .readWriteOrReadOnly else { return nil }
    if let error, ![.permissionDenied, .inputOutput, .diskFull].contains(error.code) { return nil }
    return try await withCheckedThrowingContinuation { continuation in
      openQueue.async {
        continuation.resume(
          with: Result {
            if isForced { return try open(path, configuration, because: "that was asked for.") }
            guard let reason = obstacle(at: path, after: error) else { return nil }
            do {
              return try open(path, configuration, because: reason)
            } catch let failure as StorageError {
              guard failure.code == .notFound, let error else { throw failure }
              throw error  // There is none, and none can be made.
            }
          })
      }
    }
  }

  private static let openQueue = DispatchQueue(label: "coffer.readonly.open", attributes: .concurrent)

  /// Opens an existing store for reading only. It blocks.
  static func open(
    _ path: String, _ configuration: SQLiteConfiguration, because reason: String
  ) throws -> ReadOnlyStore {
    var existing = configuration
    existing.createsIfMissing = false
    let place = try StorePlace.resolve(path, configuration: existing)
    return try ReadOnlyStore(place, configuration, because: reason)
  }

  /// What keeps this user from writing, as the end of a sentence; `nil` when nothing does. An existing file says it
  /// at once; its directory only after it was tried, since a store whose files are all there needs no new ones.
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
  /// What is missing of the commits that a wake-up file knows of, besides what is noted in the database.
  func loss(knowing words: WakeWords?, foundAt now: Date) -> LossReport? {
    guard let words, words.store == store, let announced = words.announced, announced > revision else { return loss }
    let found = LossReport(
      after: revision, upTo: announced, durableUpTo: min(announced, words.durable ?? .zero), foundAt: now)
    return loss.map { $0.joined(found) } ?? found
  }
}

extension Connection {
  /// The largest value that fits into a row: SQLite counts the whole row; the other columns fit into a page.
  var maximumValueSize: Int { Int(sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1)) - 4_096 }
}

/// Tells of each damaged value once.
final class DamageReports: Sendable {
  private struct Identity: Hashable {
    let key: StoreKey
    let revision: StoreRevision
  }

  private let told = Locked<Set<Identity>>([])
  private let place: StorePlace
  private let configuration: SQLiteConfiguration

  init(_ place: StorePlace, _ configuration: SQLiteConfiguration) {
    (self.place, self.configuration) = (place, configuration)
  }

  func report(_ finding: Finding) {
    let identity = Identity(key: finding.key, revision: finding.revision)
    guard told.withLock({ $0.insert(identity).inserted }) else { return }
    configuration.onDamage?(
      DamageReport(
        key: finding.key, revision: finding.revision, size: finding.value.count, backend: place.description))
  }
}
