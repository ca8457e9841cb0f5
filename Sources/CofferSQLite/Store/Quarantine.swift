import CofferCSQLite
import CofferCore
import Foundation

/// Keeps copies of damaged values in the quarantine table, and reports each damaged value once. That of a store without
/// a writer only reports.
final class Quarantine: Sendable {
  private struct Identity: Hashable {
    let key: KeyName
    let revision: StoreRevision
  }

  private struct State {
    weak var writer: Writer?
    var reported: Set<Identity> = []
  }

  private let state = Locked(State())
  private let file: StoreFile
  private let configuration: SQLiteEngine.Configuration
  private let isReadOnly: Bool

  init(_ file: StoreFile, configuration: SQLiteEngine.Configuration, isReadOnly: Bool = false) {
    self.file = file
    self.configuration = configuration
    self.isReadOnly = isReadOnly
  }

  /// Returns the id of a row: the revision and a hash of the key (FNV-1a).
  static func id(key: some Sequence<UInt8>, revision: Int64) -> String {
    let hash = key.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    return "\(UInt64(bitPattern: revision))-\(String(hash, radix: 16))"
  }

  /// Sets the writer that stores the copies. The reference is weak, since the store owns the writer.
  func connect(_ writer: Writer) { state.withLock { $0.writer = writer } }

  /// Reports a value whose checksum does not match, with the bytes that were read: they are kept even if the key is
  /// written again before the writer runs.
  func report(_ finding: Finding) {
    let identity = Identity(key: finding.key, revision: finding.revision)
    let (isFirst, writer) = state.withLock { ($0.reported.insert(identity).inserted, $0.writer) }
    guard isFirst, isReadOnly || writer != nil else { return }
    let now = configuration.clock.now().unixMilliseconds
    // After a failure the next reader tries again.
    let forget: @Sendable () -> Void = { [state] in _ = state.withLock { $0.reported.remove(identity) } }
    writer?.housekeep(failed: forget) { committer in
      try committer.housekeep { try finding.keep(foundAt: now, on: committer.connection) }
    }
    configuration.common.emit(
      DamageReport(
        key: finding.key, revision: finding.revision, size: finding.value.count, location: file.description,
        quarantineID: isReadOnly ? nil : finding.id))
  }
}

/// A value whose checksum does not match, as it was read.
struct Finding: Sendable {
  let key: KeyName
  let revision: StoreRevision
  let checksum: Int64
  let value: Data

  init(key: KeyName, revision: StoreRevision, checksum: Int64, value: Data) {
    (self.key, self.revision, self.checksum, self.value) = (key, revision, checksum, value)
  }

  init(_ key: KeyName, _ row: ValueRow) {
    self.init(key: key, revision: row.revision, checksum: row.checksum, value: Data(row.value))
  }

  var id: String { key.withBytes { Quarantine.id(key: $0, revision: Int64(bitPattern: revision.rawValue)) } }

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
