import CofferCSQLite
import CofferCore
import CofferLocks
import Foundation

/// Keeps copies of damaged values in the quarantine table, and reports each damaged value once.
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
  private let file: StoreFile
  private let configuration: SQLiteConfiguration

  init(_ file: StoreFile, configuration: SQLiteConfiguration) {
    self.file = file
    self.configuration = configuration
  }

  /// Sets the writer that stores the copies. The reference is weak, since the store owns the writer.
  func connect(_ writer: Writer) { state.withLock { $0.writer = writer } }

  /// Reports a value whose checksum does not match, with the bytes that were read: they are kept even if the key is
  /// written again before the writer runs.
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
        key: finding.key, revision: finding.revision, size: finding.value.count, location: file.description))
  }
}

/// A value whose checksum does not match, as it was read.
struct Finding: Sendable {
  let key: StoreKey
  let revision: StoreRevision
  let checksum: Int64
  let value: Data

  func keep(foundAt: Int64, on connection: Connection) throws {
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
