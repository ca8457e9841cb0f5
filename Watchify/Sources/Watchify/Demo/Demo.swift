import CofferCore
import CofferRouter
import CofferTerminal
import Foundation
import ReplayShop
import WatchifyKit
import WatchifyWeb

/// Runs `watchify demo`: follows an invented shop for a simulated period of two weeks, checks its own output, and shows
/// the result on a page.
func showDemo(_ invocation: Invocation) async throws -> ExitStatus {
  let configuration = try invocation.siteConfiguration()
  let shop = try await DemoShop(endingAt: Date())
  do {
    let status = try await interruptible {
      let demo = await Demo(shop, isFast: invocation.has(.fast), asJSON: invocation.has(.json))
      try await demo.run()
      return try await demo.conclude()
    }
    if invocation.has(.serve) || Output.standard.isTerminal && !invocation.has(.json) {
      try await servePage(of: shop, configuration, asJSON: invocation.has(.json))
    }
    await shop.end()
    return status
  } catch {
    await shop.end()
    throw error
  }
}

/// Serves the page of a finished demo until a signal.
private func servePage(
  of shop: DemoShop, _ configuration: SiteServer.Configuration, asJSON: Bool
) async throws {
  let ending = Ending()
  let page = WebPage(try await Session(shop), configuration)
  try await page.start(nil)
  let feed = ProgressFeed(isShown: false)
  try page.tell(feed, asJSON: asJSON)
  if !asJSON { try feed.write("It shows what the demo did. Ctrl-C ends.") }
  await ending.wait()
  await page.stop()
}

/// A run of the demo and its results.
@MainActor
final class Demo {
  let shop: DemoShop
  let output = Output.standard
  private let isFast: Bool
  let asJSON: Bool
  private let notifications = NotificationService()
  /// The notifications that the terminal channel delivered.
  private let told = Locked<[String]>([])
  private var acts: [(name: String, failures: [String])] = []
  private var hasDesktop = false

  init(_ shop: DemoShop, isFast: Bool, asJSON: Bool) {
    self.shop = shop
    self.isFast = isFast || asJSON || !Output.standard.isTerminal
    self.asJSON = asJSON
  }

  func run() async throws {
    try await prepareChannels()
    let store = try await follow()
    try await quietRead(store)
    try await priceDrop(store)
    try await restock(store)
    try await refusal(store)
    try await rest(of: store)
    try await showNews(store)
    try await showChart(store)
  }

  // MARK: Notifications

  private func prepareChannels() async throws {
    let desktop = DesktopChannel(container: shop.container)
    if case .available = await desktop.availability() { hasDesktop = true }
    let terminal = TerminalChannel(isTerminal: false) { [told] text in told.withLock { $0.append(text) } }
    let channels: [any NotificationChannel] = hasDesktop ? [terminal, desktop] : [terminal]
    try await shop.container.settings.set(channels.map(\.name), for: StorageKeys.notificationChannels)
    notifications.attach(shop.service, channels: channels)
  }

  /// Delivers notifications of the news and prints them; returns their texts.
  func notify(_ news: [ChangeEventDTO]) async throws -> [String] {
    try await notifications.deliver(news)
    let texts = told.withLock { texts in
      defer { texts = [] }
      return texts.map { String($0.dropLast()) }
    }
    let address = hasDesktop ? "terminal and desktop" : "terminal; there is no desktop here"
    for text in texts { try say("  Notification (\(address)): " + output.style.bold(text)) }
    return texts
  }

  // MARK: Acts

  /// Begins an act of the demo.
  func begin(_ name: String) async throws {
    acts.append((name, []))
    if acts.count > 1 { try await pause() }
    try Task.checkCancellation()
    try say("\n" + output.style.bold("\(acts.count). \(name)"))
  }

  /// Records and prints a failed expectation.
  func expect(_ condition: Bool, _ what: String) throws {
    guard !condition, !acts.isEmpty else { return }
    acts[acts.count - 1].failures.append(what)
    try say(output.style.red("  This did not happen: \(what)"))
  }

  func say(_ text: String) throws {
    guard !asJSON else { return }
    // Lines wider than the terminal are wrapped with an indent.
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let isLong = line.count > output.columns && !line.contains("\u{1B}")
      try output.writeLine(
        isLong ? String(line).wrapped(to: output.columns - 4).replacing("\n", with: "\n    ") : String(line))
    }
    try output.flush()
  }

  private func pause() async throws {
    if !isFast { try await Task.sleep(for: .milliseconds(2_300)) }
  }

  func conclude() throws -> ExitStatus {
    let failures = acts.flatMap(\.failures)
    if asJSON {
      let list = acts.map { act in
        JSON.object([
          ("name", .text(act.name)), ("passed", .flag(act.failures.isEmpty)),
          ("failures", .list(act.failures.map(JSON.text))),
        ])
      }
      try print(
        .object([("passed", .flag(failures.isEmpty)), ("hasDesktop", .flag(hasDesktop)), ("acts", .list(list))]))
    } else if failures.isEmpty {
      try say("\n" + output.style.green("All of this was checked during the run."))
      try say("Next: 'watchify add ADDRESS' follows a real shop, 'watchify watch' syncs it at intervals,")
      try say("'watchify serve' shows it on a page, and 'watchify doctor' checks whether notifications work.")
      try say("The demo's data is deleted; 'watchify demo --serve' keeps it, and a page of it, until Ctrl-C.")
    } else {
      try say("\n" + output.style.red("The demo failed: \(counted(failures.count, "thing")) did not happen."))
    }
    return failures.isEmpty ? .ok : .failure
  }
}
