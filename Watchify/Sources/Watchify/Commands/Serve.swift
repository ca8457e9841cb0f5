import CofferCore
import CofferRouter
import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit
import WatchifyWeb

/// Runs `watchify serve`: watches the stores and serves the page until a signal.
func serve(_ invocation: Invocation) async throws -> ExitStatus {
  let stated = try invocation.siteConfiguration()
  return try await withSession(invocation) { session in
    let configuration: SiteServer.Configuration
    do {
      configuration = try await invocation.completed(stated, session.container.settings)
    } catch let error as CommandError {
      // A service whose settings are wrong still watches.
      try Output.error.note("\(error.text.oneLine()) The stores are watched without the page.", after: "watchify:")
      return try await watch(session, invocation, page: nil)
    }
    let page = WebPage(session, configuration)
    let ending = Ending()
    var mark = WatchMark(beside: session.file)
    if mark == nil { mark = try await serveBeside(session, invocation, page, ending) }
    guard let mark else { return .ok }
    return try await watch(session, invocation, page: page, mark: mark, ending: ending)
  }
}

/// What ends the time beside another process that watches.
private enum BesideSign: Sendable {
  case asked
  case lost(any Error)
  case free(WatchMark)
}

/// Serves the page while another process watches. Returns the lock of the watch when that process has ended, while the
/// page goes on; `nil` at the end.
private func serveBeside(
  _ session: Session, _ invocation: Invocation, _ page: WebPage, _ ending: Ending
) async throws -> WatchMark? {
  let asJSON = invocation.has(.json)
  let feed = ProgressFeed(isShown: !asJSON)
  let channels = allChannels(session, nil)
  let notifications = await NotificationService()
  let secrets = try await session.secrets()
  await notifications.attach(session.service, channels: channels, secrets: secrets)
  let (signs, sign) = AsyncStream.makeStream(of: BesideSign.self)
  try WatchMark.whenFree(beside: session.file) { sign.yield(.free($0)) }
  try await page.start(PageChannels(channels, secrets, session)) { await notifications.send(for: $0) }
  if !asJSON {
    try feed.write("Another process watches the stores; this one serves the page, and watches when it ends.")
  }
  try page.tell(feed, asJSON: asJSON)
  let report = ServiceReport(Watchify.service.notifier)
  defer { report.end() }
  // Nothing is due until somebody opens a page.
  report.pulse.step(within: nil)
  report.begin(watching: session.stores.count)
  ending.whenAsked { sign.yield(.asked) }
  let databaseWatch = DatabaseWatch(session) { sign.yield(.lost($0)) }
  let first = await signs.first { _ in true }
  withExtendedLifetime(databaseWatch) {}
  if case .free(let mark) = first {
    if !asJSON { try feed.write("The other process has ended: this one watches now.") }
    return mark
  }
  report.stop()
  await page.stop()
  if case .lost(let error) = first { throw error }
  if !asJSON { try feed.write("Ended. Stored data is kept.") }
  return nil
}

extension Invocation {
  /// Returns where the page is served, and for whom.
  func siteConfiguration() throws -> SiteServer.Configuration {
    var configuration = SiteServer.Configuration()
    if let text = options[.port] {
      guard let port = UInt16(text) else { throw Command.mistake("--port takes a number from 0 to 65535.", command) }
      configuration.port = port
    }
    if let host = options[.listen], host.lowercased() != "localhost" { configuration.host = host }
    configuration.listeningDescriptor = try passedSocket(Watchify.service.sockets)
    configuration.names = values(.hostname)
    if let text = options[.publicAddress] {
      guard let address = PublicAddress(text) else {
        throw Command.mistake(
          "--public-address takes an address such as https://nas.example/watchify/. Its folder has no name of a page.",
          command)
      }
      configuration.publicAddress = address
    }
    configuration.trustedProxies = try values(.trustedProxy).map { text in
      guard let address = PeerAddress.canonical(text) else {
        throw Command.mistake("--trusted-proxy takes a numeric address, such as 192.168.1.2.", command)
      }
      return address
    }
    if let path = options[.tokenFile] { configuration.accessToken = try token(path) }
    switch (options[.certificate], options[.key]) {
    case (nil, nil): break
    case (let chain?, let key?):
      let certificates = try text(of: chain)
      guard !TLSIdentity.isOnlyKey(certificates) else {
        throw CommandError(
          .usage, "swapped", "\(chain.oneLine()) contains a private key and no certificate. The page was not started.",
          advice: "Are --certificate and --key swapped?")
      }
      configuration.tls = TLSIdentity(
        certificateChain: certificates, privateKey: try SecretInput.text(of: key, named: "private key"))
    default: throw Command.mistake("TLS needs both --certificate and --key.", command)
    }
    return configuration
  }

  /// Returns the configuration with what the settings state and no option does.
  /// - Throws: ``CommandError`` if the page cannot be served because of the settings.
  func completed(
    _ configuration: SiteServer.Configuration, _ settings: StorageRouter
  ) async throws -> SiteServer.Configuration {
    let isUsable = (try? configuration.checked()) != nil
    var configuration = configuration
    if configuration.publicAddress == nil {
      configuration.publicAddress = PublicAddress(try await settings.get(StorageKeys.publicAddress))
    }
    let path = try await settings.get(StorageKeys.accessTokenFile)
    if configuration.accessToken == nil, !path.isEmpty { configuration.accessToken = try token(path) }
    guard isUsable else { return configuration }
    do throws(SiteServer.Refusal) {
      _ = try configuration.checked()
    } catch {
      throw CommandError(
        .usage, "exposed", error.description, advice: "Check the settings publicAddress and accessTokenFile.")
    }
    return configuration
  }

  /// Returns the socket that the service manager has passed; `nil` for none.
  private func passedSocket(_ sockets: [ServiceSocket]) throws -> Int32? {
    guard sockets.count > 1 else { return sockets.first?.descriptor }
    // Connections to the others would be accepted by nobody and hang.
    throw CommandError(
      .usage, "severalSockets",
      "The socket unit passes \(sockets.count) sockets, and the page listens at one. It was not started.",
      advice: "Leave one ListenStream= in watchify.socket; an empty one removes those before it.")
  }

  private func token(_ path: String) throws -> String {
    let text = path == "-" ? readLine() ?? "" : try SecretInput.text(of: path, named: "access token")
    return String(text.prefix { !$0.isNewline })
  }

  private func text(of path: String) throws -> String {
    do {
      return try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8)
    } catch {
      throw CommandError(
        .failure, "unreadable", "\(path.oneLine()) cannot be read as text.", advice: "Check the path and its owner.")
    }
  }
}
