import CofferProcessTesting
import Foundation
import ReplayShop

@testable import WatchifyKit

/// Watchify as it is, on a database of its own, reading replayed shops over HTTP; only time is not real.
final class ReplayFixture: Sendable {
  let directory: TemporaryDirectory
  let time = JumpingClock()
  let container: ModelContainer
  let service: StoreService
  let channel = RecordingChannel()
  let notifications: NotificationService

  /// - Parameter isShopify: whether the shops count as Shopify's own front.
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

  /// The address of a running replay.
  static func address(_ server: ReplayServer) throws -> String {
    guard let port = server.port else { throw ReplayError.isRunning }
    return "127.0.0.1:\(port)"
  }

  /// One more round over all stores, with its notifications, when the minute is over.
  @discardableResult
  func round() async throws -> [ChangeEventDTO] {
    time.advance(by: .seconds(61))
    return await service.syncAllStoresWithErrorTracking(notifications: notifications)
  }

  /// How many points all histories have.
  func snapshots() async throws -> Int { try await service.snapshotCount() }
}
