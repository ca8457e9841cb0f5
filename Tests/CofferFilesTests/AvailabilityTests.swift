import CofferCore
import CofferFiles
import CofferLocks
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// Stores that are away when they are opened, or go away while they are open.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AvailabilityTests {
  private func configuration() -> SlotConfiguration {
    var configuration = SlotConfiguration()
    configuration.createsIfMissing = false  // as for a directory that is to be mounted
    return configuration
  }

  @Test("A directory that is mounted later works without a restart, and no default was written meanwhile")
  func mountedLater() async throws {
    let place = try StoreDirectory()
    let adapter = FileStorageAdapter(directory: place.url, configuration: configuration())
    var states = adapter.engine.availability().makeAsyncIterator()
    guard case .unavailable = await states.next() else { throw TestFailure("it is not there") }
    await expectError(.notFound) { _ = try await adapter.read(key: "theme") }
    await expectError(.notFound) { try await adapter.write(key: "theme", data: Data("default".utf8)) }
    await expectError(.notFound) { _ = try await adapter.keys() }
    #expect(!FileManager.default.fileExists(atPath: place.path))

    let mounted = try await place.open()
    try await mounted.commit(WriteBatch([.put(try StoreKey("theme"), Data("dark".utf8))]), from: StoreOrigin())
    // Nobody asks: the adapter finds it while somebody follows its availability.
    #expect(await states.next() == .available)
    #expect(try await adapter.read(key: "theme") == Data("dark".utf8))
    #expect(try await adapter.keys() == ["theme"])
    try await adapter.write(key: "size", data: Data("2".utf8))
    #expect(try await mounted.entry(StoreKey("size"))?.value == Data("2".utf8))
    try await mounted.close()
    try await adapter.engine.close()
  }

  @Test("Who follows the changes of a store that is away reads everything when it comes")
  func subscribedBefore() async throws {
    let place = try StoreDirectory()
    let adapter = FileStorageAdapter(directory: place.url, configuration: configuration())
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
    let mounted = try await place.open()
    // Until the subscriber has come and heard one of them.
    while !isDone.withLock({ $0 }) {
      try await mounted.commit(WriteBatch([.put(try StoreKey("theme"), Data("dark".utf8))]), from: StoreOrigin())
      try await Task.sleep(for: .milliseconds(5))
    }
    let heard = try await finish(reading.throwing, within: .seconds(60))
    guard case .reload? = heard.first, case .commit? = heard.last, heard.count == 2 else {
      throw TestFailure("\(heard)")
    }
    #expect(heard[0].revision < heard[1].revision)
    try await adapter.engine.close()
    try await mounted.close()
  }

  @Test("A handle that is closed while its store is away ends its streams")
  func closedBefore() async throws {
    let place = try StoreDirectory()
    let adapter = FileStorageAdapter(directory: place.url, configuration: configuration())
    let states = adapter.engine.availability()
    try await adapter.engine.close()
    var last: StoreAvailability?
    for await state in states { last = state }
    #expect(last != .available)
    await expectError(.closed) { _ = try await adapter.read(key: "theme") }
  }

  @Test("A directory that another has taken the place of is away for who has opened the old one")
  func swapped() async throws {
    let place = try StoreDirectory()
    let (aside, files) = (place.path + ".aside", FileManager.default)
    defer { try? files.removeItem(atPath: aside) }
    let engine = try await place.open()
    let key = try StoreKey("theme")
    try await engine.commit(WriteBatch([.put(key, Data("dark".utf8))]), from: StoreOrigin())
    var states = engine.availability().makeAsyncIterator()
    #expect(await states.next() == .available)

    try files.moveItem(atPath: place.path, toPath: aside)
    let other = try await place.open()
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
    guard case .unavailable = await states.next() else { throw TestFailure("nobody was told") }
    #expect(try await other.entry(key)?.value == Data("light".utf8))
    try await other.close()
    try await engine.close()

    try files.removeItem(atPath: place.path)
    try files.moveItem(atPath: aside, toPath: place.path)
    let again = try await place.open()
    #expect(try await again.entry(key)?.value == Data("dark".utf8))
    try await again.close()
  }

  @Test("A directory that is removed under an open store is told")
  func removedMeanwhile() async throws {
    let place = try StoreDirectory()
    let engine = try await place.open()
    let states = engine.availability()
    let reading = Task { () -> String? in
      for await state in states {
        if case .unavailable(let reason) = state { return reason }
      }
      return nil
    }
    try FileManager.default.removeItem(at: place.url)
    #expect(try await finish(reading.throwing, within: .seconds(60))?.isEmpty == false)
    try? await engine.close()
  }
}

extension Task where Failure == Never {
  /// The same task for who waits for tasks that may throw.
  fileprivate var throwing: Task<Success, any Error> { Task<Success, any Error> { await value } }
}
