import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct ExpiryRowTests {
  private let clock = SettableClock()
  private let origin = StoreOrigin()

  private func open(_ directory: TemporaryDirectory) async throws -> SQLiteEngine {
    var configuration = SQLiteEngine.Configuration()
    configuration.clock = clock.storeClock
    return try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
  }

  private var expiring: ValueAttributes {
    var attributes = ValueAttributes()
    attributes.expires = clock.now + 60
    return attributes
  }

  @Test func theTableOutlivesATransactionThatIsRolledBack() async throws {
    let directory = try TemporaryDirectory()
    let (engine, key, attributes) = (try await open(directory), KeyName("k"), expiring)
    let hadExpiries = try engine.read { try $0.hasExpiries() }
    #expect(!hadExpiries)
    for _ in 0..<2 {
      await #expect(throws: CancellationError.self) {
        try await engine.transact(TransactionHeader(origin: StoreOrigin(), durability: .relaxed)) { transaction in
          for _ in 0..<2 { try transaction.put(key, Data("1".utf8), attributes) }
          throw CancellationError()
        }
      }
    }
    for _ in 0..<3 { try await engine.commit(WriteBatch([.put(key, Data("2".utf8), attributes)]), from: origin) }
    let hasExpiries = try engine.read { try $0.hasExpiries() }
    #expect(hasExpiries)
    clock.advance(by: 60)
    let found = try await engine.perform { [clock] in try $0.expiredValues(at: clock.now).values.map(\.key) }
    #expect(found == [key])
    let value = try await engine.transact(TransactionHeader(origin: StoreOrigin(), durability: .relaxed)) {
      try $0.value(key)
    }
    #expect(value == nil, "a transaction does not see it either")
    try await engine.close()
  }

  @Test func aDamagedValueIsNotAbsentAlthoughItWouldHaveExpired() async throws {
    let directory = try TemporaryDirectory()
    let (engine, key) = (try await open(directory), KeyName("k"))
    try await engine.commit(WriteBatch([.put(key, Data("1".utf8), expiring)]), from: origin)
    try await engine.perform { committer in
      try committer.housekeep { try committer.statements.execute("UPDATE coffer_values SET value = x'ff'", []) }
    }
    clock.advance(by: 60)
    await expectStorageError(.damaged) { _ = try await engine.entry(key) }
    await expectStorageError(.damaged) { _ = try await engine.summary(of: key) }
    #expect(try await engine.summaries().map(\.key) == [key], "a listing shows it")
    await expectStorageError(.preconditionFailed) {
      try await engine.commit(WriteBatch([.require(key, nil), .put(key, Data())]), from: origin)
    }
    let expired = try await engine.perform { [clock] in try $0.expiredValues(at: clock.now).values.map(\.key) }
    #expect(expired.isEmpty)
    let quarantined = try await engine.quarantinedValues()
    #expect(quarantined.map(\.key) == [key] && quarantined.map(\.reason) == [.damagedValue])
    #expect(try await engine.quarantinedBytes(quarantined[0].id) == Data([0xFF]))
    try await engine.close()
  }
}
