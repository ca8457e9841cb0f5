import CofferCSQLite
import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// An anchor in memory, which fails, hangs or forgets as a test demands.
final class MemoryAnchor: RollbackAnchor {
  struct State {
    var record: Data?
    var isFailing = false
    var isHanging = false
    var updates = 0
    var reads = 0
  }

  let state = Locked(State())
  let description = "memory"

  struct Failure: Error {}

  func record() async throws -> Data? {
    let (hangs, fails) = state.withLock { state in
      state.reads += 1
      return (state.isHanging, state.isFailing)
    }
    if hangs { try await hang() }
    if fails { throw Failure() }
    return state.withLock { $0.record }
  }

  func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    let (hangs, fails) = state.withLock { ($0.isHanging, $0.isFailing) }
    if hangs { try await hang() }
    if fails { throw Failure() }
    try state.withLock { state in
      guard let next = try change(state.record) else { return }
      state.record = next
      state.updates += 1
    }
  }
}

extension EncryptedEngine.Configuration {
  /// Options with an anchor that is updated when the store is flushed or closed.
  static func anchored(
    _ anchor: any RollbackAnchor, _ settings: EncryptionSettings = EncryptionSettings(),
    timeout: Duration = .seconds(30)
  ) -> EncryptedEngine.Configuration {
    var configuration = EncryptedEngine.Configuration(settings: settings)
    configuration.rollbackProtection = RollbackProtection(anchor: anchor, interval: .seconds(86_400), timeout: timeout)
    return configuration
  }
}

extension StorageEngine {
  /// Returns the engine behind an encryption with an anchor and a known root key.
  func anchored(
    _ anchor: any RollbackAnchor, _ settings: EncryptionSettings = EncryptionSettings(), accepts: Bool = false
  ) async throws -> EncryptedEngine {
    let configuration = EncryptedEngine.Configuration.anchored(anchor, settings)
    if accepts {
      return try await EncryptedEngine.open(self, configuration: configuration, acceptingRollback: true) { _ in
        try .forTests()
      }
    }
    return try await EncryptedEngine.open(self, configuration: configuration) { _ in try .forTests() }
  }
}

extension TemporaryDirectory {
  /// Executes SQL on a database as a program would that knows the checksums of pages.
  func execute(_ database: String, _ sql: String) throws {
    var handle: OpaquePointer?
    #expect(sqlite3_open_v2(path(database), &handle, SQLITE_OPEN_READWRITE, PageVFS.registeredName) == SQLITE_OK)
    defer { sqlite3_close(handle) }
    #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
  }

  /// Puts system records back, or another store's in their stead, as they are in a copy of a database.
  func putBack(_ records: [SystemRecord.Name], as names: [SystemRecord.Name]? = nil, from copy: String) throws {
    for (record, name) in zip(records, names ?? records) {
      try execute(
        "store/store.db",
        """
        ATTACH '\(path(copy))/store.db' AS old;
        DELETE FROM main.coffer_records WHERE key = CAST('\(name.key)' AS BLOB);
        INSERT INTO main.coffer_records SELECT * FROM old.coffer_records WHERE key = CAST('\(record.key)' AS BLOB)
        """)
    }
  }

  /// Replaces everything in a directory of this one with what another one holds.
  func copy(_ source: String, to target: String) throws {
    if FileManager.default.fileExists(atPath: path(target)) {
      try FileManager.default.removeItem(atPath: path(target))
    }
    try FileManager.default.copyItem(atPath: path(source), toPath: path(target))
  }
}
