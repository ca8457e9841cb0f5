// Not @testable: what an application outside of the package can do.
import Foundation
import Testing
import WatchifyKit

@Suite struct OutsideTests {
  /// The specified switch, which names six cases as they are printed.
  private func title(_ error: SyncError) -> String {
    switch error {
    case .storeNotFound: "not followed"
    case .rateLimited(let retryAfter): "wait \(Int(retryAfter)) s"
    case .networkUnavailable: "offline"
    case .networkTimeout: "timeout"
    case .serverError(let statusCode): "HTTP \(statusCode)"
    case .invalidResponse: "invalid"
    }
  }

  // Requirement 2.28
  @Test("A switch over the six specified cases is exhaustive, and every failure is one of them")
  func exhaustive() {
    let plain: [SyncError] = [
      SyncError.storeNotFound, SyncError.rateLimited(retryAfter: 12), SyncError.networkUnavailable,
      SyncError.networkTimeout, SyncError.serverError(statusCode: 503), SyncError.invalidResponse,
    ]
    #expect(plain.map(title) == ["not followed", "wait 12 s", "offline", "timeout", "HTTP 503", "invalid"])
    for error in plain {
      let failure = SyncFailure.from(error)
      #expect(failure.error == error && failure.errorDescription == error.errorDescription)
    }
    for cause in [SyncFailure.ConnectionFailure.offline, .unreachable, .lost, .privateAddress("10.0.0.1")] {
      #expect(title(SyncFailure.networkUnavailable(cause).error) == "offline")
    }
    let responses: [SyncFailure.UnusableResponse] = [
      .unexpected, .refused(reason: "no"), .resting(until: .now), .passwordProtected, .notShopify,
      .closed(statusCode: 402), .incomplete(reason: "half"), .moved(to: "b.example"),
    ]
    for response in responses { #expect(title(SyncError.from(SyncFailure.invalidResponse(response))) == "invalid") }
  }

  /// A source of products with the one method that is printed.
  private struct OneMethod: ShopifyAPIProtocol {
    func fetchProducts(domain: String) async throws -> [ShopifyProduct] {
      if domain == "lost.example" { throw SyncFailure.networkUnavailable(.unreachable) }
      return []
    }
  }

  // Requirements 2.10, 2.28
  @Test("The specified calls, as they are printed, throw the specified errors")
  @MainActor func printedCalls() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("watchify-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let container = try await ModelContainer.open(at: directory.appendingPathComponent("watchify.db"))
    StoreService.shared = await StoreService.makeBackground(container: container, api: OneMethod())
    let service: StoreService = StoreService.shared
    let _: (any ModelExecutor, ModelContainer, any ShopifyAPIProtocol) = (
      service.modelExecutor, service.modelContainer, service.api
    )
    await #expect(throws: SyncError.networkUnavailable) {
      let _: UUID = try await service.addStore(name: nil, domain: "lost.example")
    }
    let id: UUID = try await service.addStore(name: "Mats", domain: "mats.example")
    do {
      let _: [ChangeEventDTO] = try await service.syncStore(storeId: id)
      Issue.record("It was just read.")
    } catch SyncError.rateLimited(let seconds) { #expect(seconds > 0) }
    await #expect(throws: SyncError.storeNotFound) { try await service.syncStore(storeId: UUID()) }
    let interval = 3_600
    let loop = Task.detached(priority: .utility) {
      while !Task.isCancelled {
        await StoreService.shared.syncAllStores()
        try? await Task.sleep(for: .seconds(interval))  // time passes: as in an application
      }
    }
    loop.cancel()
    await loop.value
    let products: [ProductDTO] = await service.fetchProducts(
      storeId: id, searchText: "", stockScope: .all, sortOrder: .name, offset: 0, limit: 10)
    let count: Int = await service.fetchProductCount(storeId: id, searchText: "", stockScope: .all)
    #expect(products.isEmpty && count == 0)
    let events: [ChangeEventDTO] = await service.fetchActivityEvents(
      storeId: id, changeTypes: [.priceDropped], startDate: nil, offset: 0, limit: 10)
    await NotificationService.shared.send(for: events)
    #expect(await service.fetchMenuBarEvents(limit: 5) == [])
    await service.markEventRead(id: UUID())
    await service.markAllUnreadEventsRead()
    #expect(await service.fetchUnreadCount() == 0)
    let state = BackgroundSyncState.shared
    state.recordError(.networkUnavailable, forStore: id)
    let errors: [UUID: SyncError] = state.storeErrors
    #expect(errors[id] == .networkUnavailable && state.hasErrors && state.errorSummary != nil)
    state.recordSuccess(forStore: id)
    let _: () -> Void = state.clearAllErrors
    let monitor = NetworkMonitor.shared
    let _: (Bool, NetworkMonitor.ConnectionType) = (monitor.isConnected, monitor.connectionType)
    let _: (() -> Void, () -> Void) = (monitor.start, monitor.stop)
    try await container.close()
    StoreService.shared = nil
  }

  @Test("The values that views show can be created")
  func values() throws {
    let store = StoreDTO(id: UUID(), name: "One", domain: "one.example", addedAt: .now)
    let product = ProductDTO(
      shopifyId: 1, title: "Mug", handle: "mug", cachedPrice: 12, cachedIsAvailable: true, firstSeenAt: .now)
    let snapshot = SnapshotDTO(capturedAt: .now, price: 12, available: true)
    let variant = VariantDTO(id: 2, price: 12, available: true, isMissing: false, history: [snapshot])
    let detail = ProductDetailDTO(
      product: product, isRemoved: false, imageURLs: [], url: "https://one.example/products/mug", variants: [variant])
    let event = ChangeEventDTO(id: UUID(), changeType: .backInStock, productTitle: "Mug", occurredAt: .now)
    #expect(store.lastError == nil && detail.product.id == 1 && detail.variants[0].history == [snapshot])
    #expect(event.magnitude == .small && !event.isRead)
  }

  // Requirement 2.35
  @Test("A notification service without a database throws, whatever it is given")
  @MainActor func noDatabase() async {
    let event = ChangeEventDTO(id: UUID(), changeType: .backInStock, productTitle: "Mug", occurredAt: .now)
    await #expect(throws: WatchifyError.noDatabase) { try await NotificationService().deliver([event]) }
    await #expect(throws: WatchifyError.noDatabase) { try await NotificationService().deliver([]) }
    await #expect(throws: WatchifyError.noDatabase) { try await NotificationService().sendPending() }
  }
}
