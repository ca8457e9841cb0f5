import CofferCore
import Foundation
import ReplayShop
import WatchifyKit

/// The demo shop of the page: an invented shop in this process, which changes about once a minute.
final class PageDemo: Sendable {
  /// The usual port of the shop, so that the next process serves a followed one at the same address.
  static let usualPort: UInt16 = 8_738
  /// The time between two changes. A store is read at most once a minute.
  private static let pace = Duration.seconds(61)

  private let service: StoreService
  private let port: UInt16
  private let deliver: @Sendable ([ChangeEventDTO]) async -> Void
  private let running = Locked<(shop: ReplayServer, clock: Task<Void, Never>)?>(nil)

  /// - Parameter deliver: delivers the news of the shop.
  init(
    _ service: StoreService, port: UInt16 = usualPort, deliver: @escaping @Sendable ([ChangeEventDTO]) async -> Void
  ) {
    self.service = service
    self.port = port
    self.deliver = deliver
  }

  /// The address of the shop.
  var address: String { "127.0.0.1:\(port)" }

  /// Starts the shop unless it is running, and returns its address.
  func start() throws -> String {
    try running.withLock { running in
      guard running == nil else { return }
      let shop = ReplayServer(feed: ReplayTimeline.demoShop.feed, timeline: .demo)
      try shop.start(port: port)
      running = (shop, Task { [address, service, deliver] in await Self.run(shop, address, service, deliver) })
    }
    return address
  }

  /// Starts the shop if it is followed, as after a restart. If another process serves it, nothing is done.
  func startIfFollowed(_ stores: [StoreDTO]) {
    guard stores.contains(where: { $0.domain == address }) else { return }
    _ = try? start()
  }

  func stop() {
    let last = running.withLock { $0.take() }
    last?.clock.cancel()
    last?.shop.stop()
  }

  /// Changes the shop and reads it, at a pace at which somebody looks on, while it is followed.
  private static func run(
    _ shop: ReplayServer, _ address: String, _ service: StoreService,
    _ deliver: @Sendable ([ChangeEventDTO]) async -> Void
  ) async {
    while (try? await Task.sleep(for: pace)) != nil {
      guard let store = try? await service.stores().first(where: { $0.domain == address }) else { continue }
      guard (try? shop.advance()) ?? nil != nil else { return }
      if let news = try? await service.sync(store.id) { await deliver(news) }
    }
  }
}
