import CofferCore
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// A source of products whose results a test sets.
final class ScriptedShop: ShopifyAPIProtocol {
  private struct State {
    var reading: Result<ShopReading, any Error> = .success(ShopReading(products: [], isComplete: true))
    var description = ShopDescription(name: "Mat House", country: "US", currency: "USD")
    var reads = 0
    var requests: [ShopRequest] = []
    var gate: AsyncStream<Void>?
    /// The only address with a listing; `nil` if all have one.
    var onlyAt: String?
    /// The requested countries.
    var countries: [String?] = []
    /// The number of requests for its description.
    var questions = 0
  }

  private let state = Locked(State())

  var reads: Int { state.withLock { $0.reads } }
  /// All requests, including those for descriptions.
  var requests: [ShopRequest] { state.withLock { $0.requests } }
  var countries: [String?] { state.withLock { $0.countries } }
  var questions: Int { state.withLock { $0.questions } }

  func serve(
    _ products: [ShopifyProduct], isComplete: Bool = true, isLimited: Bool = false, currency: String? = "USD",
    unreadable: Set<UnreadableEntry> = [], nameless: Int = 0
  ) {
    var reading = ShopReading(products: products, isComplete: isComplete, currency: currency)
    reading.unreadable = unreadable
    reading.nameless = nameless
    reading.isLimited = isLimited
    state.withLock { [reading] in $0.reading = .success(reading) }
  }

  func list(onlyAt domain: String) { state.withLock { $0.onlyAt = domain } }
  func fail(_ error: any Error) { state.withLock { $0.reading = .failure(error) } }
  func describe(_ description: ShopDescription) { state.withLock { $0.description = description } }

  /// Results are delayed until the stream ends.
  func hold(until gate: AsyncStream<Void>?) { state.withLock { $0.gate = gate } }

  func fetchProducts(domain: String) async throws -> [ShopifyProduct] {
    try await read(ShopRequest(domain: domain)).products
  }

  func read(_ request: ShopRequest) async throws -> ShopReading {
    let (reading, gate) = state.withLock { state in
      state.reads += 1
      state.requests.append(request)
      state.countries.append(request.country)
      return (state.reading, state.gate)
    }
    if let gate { for await _ in gate {} }
    if let only = state.withLock({ $0.onlyAt }), only != request.domain { throw SyncFailure.notShopify }
    return try reading.get()
  }

  func describe(_ request: ShopRequest) async throws -> ShopDescription {
    state.withLock { state in
      state.requests.append(request)
      state.questions += 1
      return state.description
    }
  }
}

/// A clock that a test sets.
final class HandClock: Sendable {
  private let time = Locked(Date(timeIntervalSince1970: 1_790_000_000))

  var now: Date { time.withLock { $0 } }
  func turn(_ seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

/// A channel that records notifications.
final class RecordingChannel: NotificationChannel {
  let name: String
  private let state = Locked<(delivered: [NotificationContent], failure: ChannelError?)>(([], nil))

  init(name: String = "desktop") { self.name = name }

  var delivered: [NotificationContent] { state.withLock { $0.delivered } }
  func fail(_ error: ChannelError?) { state.withLock { $0.failure = error } }

  func availability() async -> ChannelAvailability {
    state.withLock { $0.failure.map { .unavailable(reason: $0.reason) } ?? .available(detail: "test") }
  }

  func deliver(_ content: NotificationContent) async throws {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      state.delivered.append(content)
    }
  }
}

/// A service with a temporary database, a scripted shop and a stopped clock.
final class Workshop: Sendable {
  let shop = ScriptedShop()
  let clock = HandClock()
  let channel = RecordingChannel()
  let directory: TemporaryDirectory
  let container: ModelContainer
  let service: StoreService
  let notifications: NotificationService

  init() async throws {
    directory = try TemporaryDirectory()
    let file = URL(fileURLWithPath: directory.path("watchify.db"))
    let (opened, shop, clock, channel) = (try await ModelContainer.open(at: file), shop, clock, channel)
    container = opened
    let service = await StoreService.makeBackground(container: opened, api: shop, now: { clock.now })
    self.service = service
    notifications = await MainActor.run {
      let notifications = NotificationService()
      notifications.attach(service, channels: [channel])
      return notifications
    }
  }

  func close() async throws { try await container.close() }

  /// Follows a store that serves the given products.
  func follow(_ products: [ShopifyProduct], domain: String = "mats.example", currency: String? = "USD") async throws
    -> UUID
  {
    shop.serve(products, currency: currency)
    let id = try await service.addStore(name: nil, domain: domain)
    clock.turn(61)
    return id
  }

  /// Syncs again, a minute after the last attempt.
  @discardableResult
  func sync(_ id: UUID, _ products: [ShopifyProduct]? = nil, isComplete: Bool = true, currency: String? = "USD")
    async throws -> [ChangeEventDTO]
  {
    if let products { shop.serve(products, isComplete: isComplete, currency: currency) }
    defer { clock.turn(61) }
    return try await service.sync(id)
  }

  /// Runs a test with a workshop and closes it.
  static func use(_ body: (Workshop) async throws -> Void) async throws {
    let workshop = try await Workshop()
    do { try await body(workshop) } catch {
      try? await workshop.close()
      throw error
    }
    try await workshop.close()
  }
}

/// Expects an error of a kind: a failure with its cause, or one of the cases that need none.
func expectSyncError(
  _ expected: SyncFailure, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
  do {
    try await body()
    Issue.record("no error", sourceLocation: sourceLocation)
  } catch {
    let failure = (error as? SyncError).map(SyncFailure.from) ?? error as? SyncFailure
    #expect(failure == expected, "\(error)", sourceLocation: sourceLocation)
  }
}
