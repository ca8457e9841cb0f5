import CofferTesting
import Foundation
import ReplayShop

@testable import WatchifyKit

/// Watchify with a temporary database and a simulated clock, reading replayed shops over HTTP.
final class ReplayFixture: Sendable {
  let directory: TemporaryDirectory
  let time = JumpingClock()
  let container: ModelContainer
  let service: StoreService
  let channel = RecordingChannel()
  let notifications: NotificationService

  /// - Parameter isShopify: whether the shops count as Shopify's own servers.
  init(behindShopify isShopify: Bool = false) async throws {
    directory = try TemporaryDirectory()
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: directory.path("watchify.db")))
    let (time, channel) = (time, channel)
    var configuration = ShopifyClient.Configuration()
    if isShopify { configuration.isShopify = { _, _ in true } }
    let client = ShopifyClient(configuration: configuration, gate: RequestGate(clock: time.clock))
    let service = await StoreService.makeBackground(container: container, api: client, now: { time.now })
    self.container = container
    self.service = service
    notifications = await MainActor.run {
      let notifications = NotificationService()
      notifications.attach(service, channels: [channel])
      return notifications
    }
  }

  static func use(
    behindShopify isShopify: Bool = false, _ body: (ReplayFixture) async throws -> Void
  ) async throws {
    let fixture = try await ReplayFixture(behindShopify: isShopify)
    do { try await body(fixture) } catch {
      try? await fixture.container.close()
      throw error
    }
    try await fixture.container.close()
  }

  /// Returns the address of a running replay shop.
  static func address(_ server: ReplayServer) throws -> String {
    guard let port = server.port else { throw ReplayError.isRunning }
    return "127.0.0.1:\(port)"
  }

  /// Advances the clock by more than a minute and syncs all stores, with notifications.
  @discardableResult
  func round() async throws -> [ChangeEventDTO] {
    time.advance(by: .seconds(61))
    return await service.syncAllStoresWithErrorTracking(notifications: notifications)
  }

  /// Returns the number of snapshots of all stores.
  func snapshots() async throws -> Int { try await service.snapshotCount() }
}
