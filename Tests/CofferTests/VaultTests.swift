import CofferVault
import Foundation
import Testing

/// Returns the next elements of a stream.
func take<T>(_ count: Int, from stream: AsyncStream<T>) async throws -> [T] {
  var elements: [T] = []
  for await element in stream {
    elements.append(element)
    if elements.count == count { break }
  }
  return try #require(elements.count == count ? elements : nil)
}

@Suite(.timeLimit(.minutes(10))) struct VaultTests {
  let engine = MemoryEngine()
  var service: EngineVaultService { SwiftVault.service(over: engine) }

  // Requirements 0.2, 0.8, 0.10, 0.12, 0.13
  @Test(arguments: [Data("{}".utf8), Data(), Data(count: 10_000_000), Data([0xFF, 0])])
  func savesAndLoadsAnyBytes(data: Data) async throws {
    let service: any SwiftVaultService = SwiftVault.memory()
    for key in ["key with spaces & symbols!@#$%", "../x", "a/b", "CON", "👩‍👩‍👧"] {
      #expect(try await service.loadData(forKey: key) == nil)
      #expect(await !service.exists(forKey: key))
      try await service.saveData(data, forKey: key, transactionID: UUID())
      #expect(try await service.loadData(forKey: key) == data)
      #expect(await service.exists(forKey: key))
      try await service.remove(forKey: key)
      #expect(try await service.loadData(forKey: key) == nil)
    }
    try await service.remove(forKey: "never there")
  }

  // Requirements 0.16, 1.66
  @Test func clearAllRemovesEverything() async throws {
    let service = service
    for key in ["a", "b"] { try await service.saveData(Data(), forKey: key, transactionID: UUID()) }
    try await service.clearAll()
    for key in ["a", "b"] { #expect(await !service.exists(forKey: key)) }
  }

  // Requirements 0.5, 0.21, 0.22, 0.39
  @Test func eachSubscriberHearsAllThatOthersWrite() async throws {
    let (app, widget) = (service, service)
    let first = widget.externalChanges
    let second = widget.externalChanges
    let (one, two) = (UUID(), UUID())
    try await widget.saveData(Data(), forKey: "own", transactionID: one)
    try await app.saveData(Data(), forKey: "a", transactionID: one)
    try await app.saveData(Data(), forKey: "b", transactionID: one)  // several saves may share a transaction
    try await app.saveBatch([("c", Data()), ("d", Data()), ("c", Data([1]))], transactionID: two)
    try await app.remove(forKey: "a")
    try await app.clearAll()
    try await engine.commit(
      WriteBatch([.put(KeyName("e"), Data()), .clear(prefix: KeyName("x"))], transaction: two), from: StoreOrigin())
    for stream in [first, second] {
      let changes = try await take(8, from: stream)
      for (change, (key, transaction)) in zip(changes, [("a", one), ("b", one), ("c", two), ("d", two)]) {
        #expect(change == (key, transaction))
      }
      #expect(changes[4].key == "a")
      #expect(changes[4].transactionID != nil)
      #expect(changes[5].key == nil)
      #expect(changes[5].transactionID != nil)
      #expect(changes[6] == ("e", two))
      #expect(changes[7] == (nil, two))
    }
    try await engine.close()
    for await _ in first { Issue.record("an element after the end") }
  }

  // Requirement 0.22
  @Test func aSubscriberThatFellBehindIsToldToReload() async throws {
    let engine = MemoryEngine(journalCapacity: 8)
    let (app, widget) = (SwiftVault.service(over: engine), SwiftVault.service(over: engine))
    let changes = widget.externalChanges
    for number in 0..<50 { try await app.saveData(Data(), forKey: "\(number)", transactionID: UUID()) }
    let first = try await take(1, from: changes)[0]
    #expect(first == (nil, nil))
  }

  // Requirement 0.41
  @Test func aBatchIsOneCommit() async throws {
    let engine = MemoryEngine(maximumValueSize: 10)
    let service = SwiftVault.service(over: engine)
    try await service.saveBatch([("a", Data([1])), ("b", Data([2]))], transactionID: UUID())
    #expect(engine.latestRevision == StoreRevision(1))
    try await service.saveBatch([], transactionID: UUID())
    await #expect(throws: SwiftVaultError.writeFailed(key: "big", underlyingError: unavailable)) {
      try await service.saveBatch([("c", Data([1])), ("big", Data(count: 11))], transactionID: UUID())
    }
    #expect(await !service.exists(forKey: "c"))
  }

  // Requirements 0.3, 0.9, 0.14
  @Test func unavailableIsNeverAbsent() async throws {
    let probe = ProbeEngine(engine)
    let service = SwiftVault.service(over: probe)
    probe.fail(unavailable)
    #expect(await service.exists(forKey: "a"))
    #expect(await !service.exists(forKey: ""))
    await #expect(throws: SwiftVaultError.readFailed(key: "a", underlyingError: unavailable)) {
      try await service.loadData(forKey: "a")
    }
  }

  // Requirements 0.3, 0.4, 0.11, 0.17, 0.30, 0.31
  @Test func errorsOfTheEngineRoomBecomeTheVaults() async throws {
    let probe = ProbeEngine(engine)
    let service = SwiftVault.service(over: probe)
    func expect(_ error: SwiftVaultError, from call: () async throws -> Void) async {
      await #expect(throws: error) { try await call() }
    }
    probe.fail(StorageError(.diskFull, "No space is left."))
    let some = unavailable  // equality considers only whether there is an underlying error
    await expect(.writeFailed(key: "a", underlyingError: some)) {
      try await service.saveData(Data(), forKey: "a", transactionID: UUID())
    }
    await expect(.deleteFailed(key: "a", underlyingError: some)) { try await service.remove(forKey: "a") }
    await expect(.clearAllFailed(underlyingError: some)) { try await service.clearAll() }
    probe.fail(StorageError(.permissionDenied, "Access refused."))
    await expect(.backendError(reason: "Access refused", underlyingError: some)) {
      try await service.saveData(Data(), forKey: "a", transactionID: UUID())
    }
    probe.fail(nil)
    await expect(.readFailed(key: "", underlyingError: some)) { _ = try await service.loadData(forKey: "") }
    await #expect(throws: SwiftVaultError.initializationFailed("Access refused")) {
      try await VaultOperation.open.run { throw StorageError(.permissionDenied, "Access refused.") }
    }

    let adapter = SwiftVault.service(over: AdapterEngine(ThirdPartyAdapter()))
    try await adapter.saveData(Data([1]), forKey: "a", transactionID: UUID())
    let refusal = await #expect(throws: SwiftVaultError.self) { try await adapter.clearAll() }
    guard case .unsupportedOperation = refusal else { return #expect(Bool(false)) }
  }

  // Requirement 0.29
  @Test func cancellationIsNotDisguised() async throws {
    let service = service
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await service.saveData(Data(), forKey: "a", transactionID: UUID())
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await !service.exists(forKey: "a"))
  }

  // Requirement 0.40
  @Test func asyncFilterKeepsTheOrder() async throws {
    let service = service
    for key in ["c", "a"] { try await service.saveData(Data(), forKey: key, transactionID: UUID()) }
    let existing = await ["a", "b", "c"].asyncFilter { key in await service.exists(forKey: key) }
    #expect(existing == ["a", "c"])
    struct Stop: Error {}
    await #expect(throws: Stop.self) { _ = try await [1].asyncFilter { _ in throw Stop() } }
  }
}

@Suite struct SwiftVaultErrorTests {
  static let cause = StorageError(.diskFull, "No space is left.")

  static let texts: [(SwiftVaultError, String)] = [
    (.readFailed(key: "K"), "Read failed for key 'K'."),
    (.writeFailed(key: "K"), "Write failed for key 'K'."),
    (.deleteFailed(key: "K"), "Delete failed for key 'K'."),
    (.clearAllFailed(), "Clear all failed."),
    (.initializationFailed("M"), "Initialization failed - M."),
    (.unsupportedOperation(description: "D"), "Unsupported operation - D."),
    (.backendError(reason: "R"), "Backend error - R."),
    (.appGroupContainerUnavailable(appGroupId: "G"), "App Group container unavailable for ID G."),
  ]

  @Test func everyCaseHasItsText() {
    for (error, text) in Self.texts {
      #expect(error.errorDescription == "SwiftVaultError: \(text)")
      #expect(error.localizedDescription == "SwiftVaultError: \(text)")
    }
  }

  @Test func errorsAreEqualByTextsAndPresenceOfACause() {
    for (index, (error, _)) in Self.texts.enumerated() {
      for (other, (different, _)) in Self.texts.enumerated() { #expect((error == different) == (index == other)) }
    }
    let (one, two) = (Self.cause, CancellationError())
    #expect(SwiftVaultError.readFailed(key: "K", underlyingError: one) == .readFailed(key: "K", underlyingError: two))
    #expect(SwiftVaultError.readFailed(key: "K", underlyingError: one) != .readFailed(key: "K"))
    #expect(SwiftVaultError.readFailed(key: "K") != .readFailed(key: "L"))
    #expect(SwiftVaultError.clearAllFailed() != .clearAllFailed(underlyingError: one))
  }
}
