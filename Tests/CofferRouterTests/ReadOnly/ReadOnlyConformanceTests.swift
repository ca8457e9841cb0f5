import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Every kind of store, opened for reading only.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct ReadOnlyConformanceTests {
  // The check of what is replayed does not know the commit by which an encrypted store is created.
  private static let stores = TestedStore.all.filter { $0 != .memory && $0 != .encrypted }

  /// Forwards everything.
  private struct Forwarding: EngineDecorator { let base: any StorageEngine }

  // Requirement 5.6
  @Test(
    "A store is read and not changed, every write is refused, a missing store is not created", arguments: stores)
  func everyStore(_ store: TestedStore) async throws {
    try await store.conformance().runReadOnly(mayBeMissing: store == .keychain) {
      try await store.open(in: $0.directory, StoreOptions(access: .readOnly))
    }
  }

  // Requirement 5.6
  @Test("The same holds behind decorators and for a store that was opened late")
  func decorated() async throws {
    for store in [TestedStore.sqlite, .file] {
      try await store.conformance().runReadOnly { location in
        Forwarding(
          base: Forwarding(base: try await store.open(in: location.directory, StoreOptions(access: .readOnly))))
      }
      try await store.conformance().runReadOnly { location in
        let late = RetryingEngine(
          StorageError(.unavailable, "Not yet."), description: "late",
          capabilities: StoreCapabilities([], maximumValueSize: 1)
        ) { try await store.open(in: location.directory, StoreOptions(access: .readOnly)) }
        _ = try await late.openBase()
        return late
      }
    }
  }

  // Requirement 5.6
  @Test("An engine behind ReadOnlyEngine is read, and refuses every write")
  func decorator() async throws {
    let engine = MemoryEngine()
    let reading = ReadOnlyEngine(engine)
    let batch = WriteBatch([.put(KeyName("a"), Data("1".utf8))])
    await expectError(.readOnly, "read-only access was requested") {
      _ = try await reading.commit(batch, from: StoreOrigin())
    }
    try await engine.commit(batch, from: StoreOrigin())
    #expect(try await reading.entry(KeyName("a"))?.value == Data("1".utf8))
    #expect(reading.isReadOnly && !engine.isReadOnly)
  }

  // Requirement 5.6
  @Test(
    "A locked keyring is reported as locked, and read without creating a journal",
    .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
  func keyring() async throws {
    let keyring = try PrivateKeyring()
    let variables = Dictionary(uniqueKeysWithValues: keyring.environment)
    let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") { variables[$0] }
    let address = keyring.address
    let journals = keyring.dataDirectory.appendingPathComponent("coffer")
    @Sendable func open(_ service: String, _ access: StoreAccess) async throws -> any StorageEngine {
      var options = StoreOptions()
      options.keychain.address = address
      options.access = access
      return try await SystemDirectories.$current.withValue(system) { [options] in
        try await StoreLocation.keychain(service: service).open(options)
      }
    }
    let writer = try await open("locked", .readWrite)
    try await writer.commit(WriteBatch([.put(KeyName("a"), Data("1".utf8))]), from: StoreOrigin())
    try await writer.close()
    // Another data directory, without a journal.
    try FileManager.default.removeItem(at: journals)
    let late = try await open("locked", .readOnly)
    #expect(try await late.entry(KeyName("a"))?.value == Data("1".utf8))
    try keyring.lock()
    let reading = try await open("locked", .readOnly)
    for engine in [late, reading] {
      await expectError(.unavailable, "locked") { _ = try await engine.entry(KeyName("a")) }
      await expectError(.unavailable, "locked") { _ = try await engine.summaries() }
      await expectError(.readOnly) {
        _ = try await engine.commit(WriteBatch([.delete(KeyName("a"))]), from: StoreOrigin())
      }
    }
    let state = await reading.currentAvailability
    #expect(!state.isUsable)
    try keyring.unlock("correct horse")
    for await state in reading.availability() where state.isUsable { break }
    #expect(try await reading.entry(KeyName("a"))?.value == Data("1".utf8))
    for engine in [late, reading] { try await engine.close() }
    #expect(!FileManager.default.fileExists(atPath: journals.path))
  }
}
