import CofferCSQLite
import CofferCore
import Foundation

/// Keeps damaged bytes aside and reports each damage once.
final class Quarantine: Sendable {
  private struct Finding: Hashable {
    let key: Key
    let revision: Revision
  }

  private struct State {
    weak var writer: Writer?
    var reported: Set<Finding> = []
  }

  private let state = Locked(State())
  private let place: StorePlace
  private let configuration: SQLiteConfiguration

  init(_ place: StorePlace, configuration: SQLiteConfiguration) {
    self.place = place
    self.configuration = configuration
  }

  /// The writer copies the bytes; weakly, since it is the store's.
  func connect(_ writer: Writer) { state.withLock { $0.writer = writer } }

  /// Called by a reader that has found a wrong checksum. The copy is queued before the reader's caller can write the
  /// key again, so the bytes are safe whatever it does.
  func report(_ key: Key, _ revision: Revision, size: Int) {
    let writer = state.withLock { state -> Writer? in
      state.reported.insert(Finding(key: key, revision: revision)).inserted ? state.writer : nil
    }
    guard let writer else { return }
    let now = configuration.clock.now().unixMilliseconds
    writer.housekeep { committer in
      try committer.housekeep { try Self.keep(key, foundAt: now, on: $0) }
    }
    configuration.onDamage?(DamageReport(key: key, revision: revision, size: size, backend: place.description))
  }

  private static func keep(_ key: Key, foundAt: Int64, on connection: Connection) throws {
    let statement = try connection.prepare(
      """
      INSERT OR IGNORE INTO coffer_quarantine (key, revision, checksum, found_at, value)
      SELECT key, revision, checksum, ?2, value FROM coffer_values WHERE key = ?1
      """)
    try key.withBytes { name in
      statement.bind(1, copying: name)
      statement.bind(2, foundAt)
      try statement.run()
    }
  }
}
