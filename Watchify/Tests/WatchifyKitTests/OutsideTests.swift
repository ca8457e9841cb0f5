// Not @testable: what an application outside of the package can do.
import Foundation
import Testing
import WatchifyKit

@Suite struct OutsideTests {
  /// The specified switch, which names six cases.
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

  @Test("A switch over the six specified cases is exhaustive, and every finer cause is one of them")
  func exhaustive() {
    #expect(title(.rateLimited(retryAfter: 12)) == "wait 12 s")
    #expect(title(.serverError(statusCode: 503)) == "HTTP 503")
    for failure in [SyncError.ConnectionFailure.offline, .unreachable, .lost, .privateAddress("10.0.0.1")] {
      #expect(title(.networkUnavailable(failure)) == "offline")
    }
    let responses: [SyncError.UnusableResponse] = [
      .unexpected, .refused(reason: "no"), .resting(until: .now), .passwordProtected, .notShopify,
      .closed(statusCode: 402), .incomplete(reason: "half"), .moved(to: "b.example"),
    ]
    for response in responses { #expect(title(.invalidResponse(response)) == "invalid") }
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

  @Test("A notification service without a database throws, whatever it is given")
  @MainActor func noDatabase() async {
    let event = ChangeEventDTO(id: UUID(), changeType: .backInStock, productTitle: "Mug", occurredAt: .now)
    await #expect(throws: WatchifyError.noDatabase) { try await NotificationService().deliver([event]) }
    await #expect(throws: WatchifyError.noDatabase) { try await NotificationService().deliver([]) }
    await #expect(throws: WatchifyError.noDatabase) { try await NotificationService().sendPending() }
  }
}
