import CofferCore
import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Streams of a router over a real keyring that is locked, killed, restarted and hung.
@Suite(
  .blocking, .serialized, .timeLimit(.minutes(15)),
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct OutageTests {
  private let keyring: PrivateKeyring
  private let configuration: StorageConfiguration

  init() throws {
    keyring = try PrivateKeyring(password: "pw")
    let address = keyring.address
    configuration = configured {
      $0.stores.keychain.address = address
      $0.stores.keychain.timeout = .seconds(1)
    }
  }

  private func use(_ body: () async throws -> Void) async throws {
    let variables = Dictionary(uniqueKeysWithValues: keyring.environment)
    let system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { variables[$0] }
    try await SystemDirectories.$current.withValue(system) { try await body() }
  }

  /// The elements that a stream has delivered.
  private final class Heard<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<Element>) {
      task = Task { [elements] in for await element in stream { elements.withLock { $0.append(element) } } }
    }

    deinit { task.cancel() }

    var all: [Element] { elements.withLock { $0 } }

    /// Waits for an element from position `index` on, and returns the position after it.
    @discardableResult
    func wait(from index: Int = 0, _ what: String, _ isWanted: (Element) -> Bool) async throws -> Int {
      var found: Int?
      try await eventually(what) {
        found = all.dropFirst(index).firstIndex(where: isWanted)
        return found != nil
      }
      return try #require(found) + 1
    }
  }

  private typealias Value = Result<String?, StorageError>

  private func isLocked(_ value: Value) -> Bool { failure(value)?.message.contains("locked") == true }
  private func failure(_ value: Value) -> StorageError? {
    if case .failure(let error) = value { error } else { nil }
  }
  private func text(_ value: Value) -> String? { (try? value.get()) ?? nil }

  // Requirements 5.10, 5.11
  @Test("Values and availability continue through a locked, killed, restarted and hung keyring")
  func outages() async throws {
    try await use {
      let (router, other) = (StorageRouter(configuration: configuration), StorageRouter(configuration: configuration))
      for router in [router, other] { try await router.registerCatalog(ShopCatalog()) }
      #expect(try await router.currentAvailability(of: .token) == .available)
      try await other.set("one", for: .token)

      try keyring.lock()
      let values = Heard(try await router.values(of: .token))
      let states = [
        Heard(try await router.availability(of: .token)), Heard(try await router.availability(of: .token)),
      ]
      var next = try await values.wait("a locked keyring") { isLocked($0) }
      for state in states { try await state.wait("the lock") { !$0.isUsable } }
      guard case .unavailable(let reason) = try await router.currentAvailability(of: .token) else {
        throw TestFailure("it is not unavailable")
      }
      #expect(reason.contains("locked"))
      let all = await router.currentAvailability()
      #expect(all.filter { !$0.availability.isUsable }.map(\.keys) == [["token"]])
      let report = try await router.clear(owner: "Account", .valuesAndSecrets)
      #expect(report.stores.flatMap(\.left).map(\.key) == ["token"] && report.failures[0].code == .unavailable)

      try keyring.unlock("pw")
      next = try await values.wait(from: next, "the value") { text($0) == "one" }
      for state in states { try await state.wait("the lock's end") { $0 == .available } }

      keyring.stopBus()
      keyring.stopDaemon()
      try await states[0].wait(from: states[0].all.count - 1, "the bus") { !$0.isUsable }
      let late = Heard(try await StorageRouter(configuration: configuration).values(of: .token))
      try await late.wait("no bus") { failure($0)?.code == .unavailable }
      try keyring.startBus()
      try keyring.startDaemon(password: "pw")
      try await late.wait("the value") { text($0) == "one" }
      try await states[0].wait(from: states[0].all.count - 1, "the bus") { $0 == .available }
      try await set("two", in: other)
      next = try await values.wait(from: next, "the value after the restart") { text($0) == "two" }
      try await late.wait("the value after the restart") { text($0) == "two" }

      keyring.pause()
      let third = StorageRouter(configuration: configuration)
      let hung = Heard(try await third.values(of: .token))
      try await hung.wait("no answer") { failure($0)?.code == .unavailable }
      keyring.resume()
      try await hung.wait("the value") { text($0) == "two" }
      try await set("three", in: other)
      for heard in [values, hung, late] { try await heard.wait("the last value") { text($0) == "three" } }

      #expect(try await router.clear(owner: "Account").removed.isEmpty)
      #expect(try await other.get(.token) == "three")
      let cleared = try await router.clear(all: .valuesAndSecrets)
      #expect(cleared.isComplete && cleared.removed == ["token"])
      try await values.wait(from: next, "the removal") { (try? $0.get()) == .some(nil) }
      for router in [router, other, third] { try await router.close() }
    }
  }

  /// Stores a token once the keyring can be used.
  private func set(_ token: String, in router: StorageRouter) async throws {
    try await eventually("the keyring can be used") {
      do {
        try await router.set(token, for: .token)
        return true
      } catch let error as StorageError where error.code == .unavailable {
        return false
      }
    }
  }
}
