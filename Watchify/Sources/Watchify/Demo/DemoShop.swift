import CofferCore
import CofferTerminal
import Foundation
import ReplayShop
import WatchifyKit

/// An invented shop in this process, with a temporary database and a simulated clock.
final class DemoShop: Sendable {
  let server: ReplayServer
  let container: ModelContainer
  let service: StoreService
  private let folder: URL
  /// The database.
  let file: URL
  private let clock: Locked<Date>

  /// Starts the shop.
  /// - Parameter end: the simulated date at which the demo ends.
  init(endingAt end: Date) async throws {
    let clock = Locked(end.addingTimeInterval(-12 * 86_400))
    let now: @Sendable () -> Date = { clock.withLock { $0 } }
    self.clock = clock
    server = ReplayServer(feed: ReplayTimeline.demoShop.feed, timeline: .demo)
    try server.start()
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("watchify-demo-\(UUID().uuidString)")
    file = folder.appendingPathComponent("demo.db")
    container = try await ModelContainer.open(at: file)
    var configuration = ShopifyClient.Configuration()
    (configuration.pagePause, configuration.storePause, configuration.retryDelays) = (.zero, .zero, [])
    // A separate gate, because the simulated clock must not affect the pauses of real shops.
    let gate = RequestGate(clock: ShopClock(now: now, sleep: { _ in }))
    service = await StoreService.makeBackground(
      container: container, api: ShopifyClient(configuration: configuration, gate: gate), now: now)
  }

  var now: Date { clock.withLock { $0 } }

  /// Advances the simulated clock.
  func pass(hours: Double) { clock.withLock { $0 += hours * 3_600 } }

  /// Stops the shop and deletes the database.
  func end() async {
    try? await container.close()
    server.stop()
    try? FileManager.default.removeItem(at: folder)
  }
}
