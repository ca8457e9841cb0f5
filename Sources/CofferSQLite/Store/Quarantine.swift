import CofferCSQLite
import CofferCore
import CofferLocks
import Foundation

/// Keeps damaged bytes aside and reports each damage once.
final class Quarantine: Sendable {
  private struct Identity: Hashable {
    let key: StoreKey
    let revision: StoreRevision
  }

  private struct State {
    weak var writer: Writer?
    var reported: Set<Identity> = []
  }

  private let state = Locked(State())
  private let place: StorePlace
  private let configuration: SQLiteConfiguration

  init(_ place: StorePlace, configuration: SQLiteConfiguration) {
    self.place = place
    self.configuration = configuration
  }

  /// The writer keeps the bytes; weakly, since it is the store's.
  func connect(_ writer: Writer) { state.withLock { $0.writer = writer } }

  /// Called by a reader that has found a wrong checksum, with the bytes that it has read: they are kept even if the key
  /// is written again before the writer comes to it.
  func report(_ finding: Finding) {
    let identity = Identity(key: finding.key, revision: finding.revision)
    let writer = state.withLock { $0.reported.insert(identity).inserted ? $0.writer : nil }
    guard let writer else { return }
    let now = configuration.clock.now().unixMilliseconds
    writer.housekeep { [state] committer in
      do {
        try committer.housekeep { try finding.keep(foundAt: now, on: committer.connection) }
      } catch {
        _ = state.withLock { $0.reported.remove(identity) }  // The next reader tries again.
        throw error
      }
    }
    configuration.onDamage?(
      DamageReport(
        key: finding.key, revision: finding.revision, size: finding.value.count, backend: place.description))
  }
}

/// A value with a wrong checksum, as it was read.
struct Finding: Sendable {
  let key: StoreKey
  let revision: StoreRevision
  let checksum: Int64
  let value: Data

  fileprivate func keep(foundAt: Int64, on connection: Connection) throws {
    let statement = try connection.prepare(
      """
      INSERT OR IGNORE INTO coffer_quarantine (key, revision, checksum, found_at, value) VALUES (?1, ?2, ?3, ?4, ?5)
      """)
    key.withBytes { statement.bind(1, copying: $0) }
    statement.bind(2, Int64(bitPattern: revision.rawValue))
    statement.bind(3, checksum)
    statement.bind(4, foundAt)
    value.withUnsafeBytes { statement.bind(5, copying: $0) }
    try statement.run()
  }
}
