import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// Stores that are unavailable when they are opened, or become unavailable while they are open.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AvailabilityTests {
  private func configuration() -> SlotEngine.Configuration {
    var configuration = SlotEngine.Configuration()
    configuration.createsIfMissing = false  // as for a directory that is to be mounted
    return configuration
  }

  @Test("A directory that is mounted later works without a restart, and no default was written meanwhile")
  func mountedLater() async throws {
    let fixture = try StoreDirectory()
    let adapter = FileStorageAdapter(directory: fixture.url, configuration: configuration())
    var states = adapter.engine.availability().makeAsyncIterator()
    guard case .unavailable = await states.next() else { throw TestFailure("the store is not unavailable") }
    await expectError(.notFound) { _ = try await adapter.read(key: "theme") }
    await expectError(.notFound) { try await adapter.write(key: "theme", data: Data("default".utf8)) }
    await expectError(.notFound) { _ = try await adapter.keys() }
    #expect(!FileManager.default.fileExists(atPath: fixture.path))

    let mounted = try await fixture.open()
    try await mounted.commit(WriteBatch([.put(KeyName("theme"), Data("dark".utf8))]), from: StoreOrigin())
    // No method is called: the adapter finds the directory because its availability is being followed.
    #expect(await states.next() == .available)
    #expect(try await adapter.read(key: "theme") == Data("dark".utf8))
    #expect(try await adapter.keys() == ["theme"])
    try await adapter.write(key: "size", data: Data("2".utf8))
    #expect(try await mounted.entry(KeyName("size"))?.value == Data("2".utf8))
    try await mounted.close()
    try await adapter.engine.close()
  }

  @Test("A subscriber to an unavailable store receives a reload once the store is available")
  func subscribedBefore() async throws {
    let fixture = try StoreDirectory()
    let adapter = FileStorageAdapter(directory: fixture.url, configuration: configuration())
    let changes = adapter.engine.changes(since: nil)
    let isDone = Locked(false)
    let reading = Task { () -> [StoreChange] in
      var heard: [StoreChange] = []
      for await change in changes {
        heard.append(change)
        if case .commit = change { break }
      }
      isDone.withLock { $0 = true }
      return heard
    }
    let mounted = try await fixture.open()
    try await eventually("the subscriber has received a commit") {
      try await mounted.commit(WriteBatch([.put(KeyName("theme"), Data("dark".utf8))]), from: StoreOrigin())
      return isDone.withLock { $0 }
    }
    let heard = try await finish(reading.throwing, within: .seconds(60))
    guard case .reload? = heard.first, case .commit? = heard.last, heard.count == 2 else {
      throw TestFailure("\(heard)")
    }
    #expect(heard[0].revision < heard[1].revision)
    try await adapter.engine.close()
    try await mounted.close()
  }

  @Test("Closing a handle while its store is unavailable ends its streams")
  func closedBefore() async throws {
    let fixture = try StoreDirectory()
    let adapter = FileStorageAdapter(directory: fixture.url, configuration: configuration())
    let states = adapter.engine.availability()
    try await adapter.engine.close()
    var last: StoreAvailability?
    for await state in states { last = state }
    #expect(last != .available)
    await expectError(.closed) { _ = try await adapter.read(key: "theme") }
  }

  @Test("A directory that was replaced by another is unavailable to handles of the old one")
  func swapped() async throws {
    let fixture = try StoreDirectory()
    let (aside, files) = (fixture.path + ".aside", FileManager.default)
    defer { try? files.removeItem(atPath: aside) }
    let engine = try await fixture.open()
    let key = KeyName("theme")
    try await engine.commit(WriteBatch([.put(key, Data("dark".utf8))]), from: StoreOrigin())
    var states = engine.availability().makeAsyncIterator()
    #expect(await states.next() == .available)

    try files.moveItem(atPath: fixture.path, toPath: aside)
    let other = try await fixture.open()
    try await other.commit(WriteBatch([.put(key, Data("light".utf8))]), from: StoreOrigin())
    let stale = WriteBatch([.put(key, Data("stale".utf8))])
    // The journal notices within a second and ends then.
    for call in [{ _ = try await engine.entry(key) }, { _ = try await engine.commit(stale, from: StoreOrigin()) }] {
      do {
        try await call()
        Issue.record("nothing was thrown")
      } catch let error as StorageError {
        #expect([.unavailable, .closed].contains(error.code) && error.message.contains("moved"), "\(error)")
      }
    }
    guard case .unavailable = await states.next() else { throw TestFailure("the unavailability was not reported") }
    #expect(try await other.entry(key)?.value == Data("light".utf8))
    try await other.close()
    try await engine.close()

    try files.removeItem(atPath: fixture.path)
    try files.moveItem(atPath: aside, toPath: fixture.path)
    let again = try await fixture.open()
    #expect(try await again.entry(key)?.value == Data("dark".utf8))
    try await again.close()
  }

  @Test("Removing the directory of an open store is reported as unavailable")
  func removedMeanwhile() async throws {
    let fixture = try StoreDirectory()
    let engine = try await fixture.open()
    let states = engine.availability()
    let reading = Task { () -> String? in
      for await state in states {
        if case .unavailable(let reason) = state { return reason }
      }
      return nil
    }
    try FileManager.default.removeItem(at: fixture.url)
    #expect(try await finish(reading.throwing, within: .seconds(60))?.isEmpty == false)
    try? await engine.close()
  }
}

extension Task where Failure == Never {
  /// The task as one that may throw.
  fileprivate var throwing: Task<Success, any Error> { Task<Success, any Error> { await value } }
}
