import CofferCore
import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit
import WatchifyWeb

/// The page of a running `watchify serve` or `watchify demo --serve`.
final class WebPage: Sendable {
  private let session: Session
  private let configuration: SiteServer.Configuration
  /// The date of the next check; `nil` if unknown.
  let next = Locked<Date?>(nil)
  /// Delivers news that is found because of the page.
  let deliver = Locked<@Sendable ([ChangeEventDTO]) async -> Void>({ _ in })
  private let server = Locked<SiteServer?>(nil)
  private let demo = Locked<PageDemo?>(nil)

  init(_ session: Session, _ configuration: SiteServer.Configuration) {
    self.session = session
    self.configuration = configuration
  }

  /// Starts the page.
  /// - Parameters:
  ///   - deliver: delivers news that is found because of the page.
  ///   - channels: the channels that it shows and tests; `nil` if the process delivers nothing.
  /// - Throws: ``CommandError`` if the address is in use or may not be served.
  func start(
    _ channels: PageChannels?, deliver: @escaping @Sendable ([ChangeEventDTO]) async -> Void = { _ in }
  ) async throws {
    self.deliver.withLock { $0 = deliver }
    let deliver: @Sendable ([ChangeEventDTO]) async -> Void = { [current = self.deliver] news in
      await current.withLock { $0 }(news)
    }
    let demo = PageDemo(session.service, deliver: deliver)
    var options = SiteOptions()
    options.health = health(channels)
    options.deliver = deliver
    if let channels { options.testNotification = { await channels.test() } }
    options.startDemo = { try demo.start() }
    do {
      let server = try SiteServer(
        service: session.service, container: session.container,
        pictures: URL(fileURLWithPath: session.file.path + "-pictures"), configuration: configuration,
        options: options)
      try server.start()
      self.server.withLock { $0 = server }
      self.demo.withLock { $0 = demo }
      demo.startIfFollowed(session.stores)
    } catch let error as SiteServer.Refusal {
      throw CommandError(.usage, "exposed", error.description, advice: "'watchify help serve' describes the options.")
    } catch let error as HTTPServerError {
      guard case .cannotListen = error else { throw CommandError(.failure, "notStarted", error.description) }
      throw CommandError(
        .failure, "cannotListen", error.description,
        advice: "If another 'watchify serve' is running, open its page; else choose another port with --port.")
    }
  }

  /// The address; `nil` unless the page is running.
  var url: URL? { server.withLock { $0?.url } }

  /// Prints the address.
  func tell(_ feed: ProgressFeed, asJSON: Bool) throws {
    guard let url else { return }
    if asJSON {
      try print(.object([("at", .date(Date())), ("status", .text("serving")), ("url", .text(url.absoluteString))]))
      return
    }
    try feed.write("The page: \(url.absoluteString)")
    if configuration.accessToken != nil, !url.isOfThisDevice {
      try feed.write("Other devices can reach it. It asks for the access token.")
    }
  }

  func stop() async {
    let (server, demo) = (server.withLock { $0.take() }, demo.withLock { $0.take() })
    await server?.stop()
    demo?.stop()
  }

  private func health(_ channels: PageChannels?) -> @Sendable () async -> SiteHealth {
    { [session, next] in
      let look = WatchMark.look(beside: session.file)
      return SiteHealth(
        isWatching: look.isWatched, next: next.withLock { $0 } ?? look.next, channels: await channels?.states() ?? [])
    }
  }
}

extension URL {
  fileprivate var isOfThisDevice: Bool { host == "127.0.0.1" || host == "localhost" || host == "::1" }
}
