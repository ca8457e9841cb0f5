import CofferCore
import Foundation

@testable import WatchifyKit

/// A clock whose sleeps return at once and advance the time.
final class JumpingClock: Sendable {
  private struct State {
    var now = Date(timeIntervalSince1970: 1_800_000_000)
    var slept: [Duration] = []
  }
  private let state = Locked(State())

  var now: Date { state.withLock { $0.now } }
  /// The durations of the sleeps, in order.
  var slept: [Duration] { state.withLock { $0.slept } }

  func advance(by duration: Duration) {
    state.withLock { $0.now += duration / .seconds(1) }
  }

  var clock: ShopClock {
    ShopClock(
      now: { self.now },
      sleep: { duration in
        try Task.checkCancellation()
        self.state.withLock { $0.slept.append(duration) }
        self.advance(by: duration)
      })
  }
}

/// A client with a separate gate and clock.
struct ClientFixture: Sendable {
  let time = JumpingClock()
  let gate: RequestGate
  let client: ShopifyClient

  /// Creates a client with small pages, so that scripts are short.
  init(pageSize: Int = 3, pageCap: Int = 20, _ change: (inout ShopifyClient.Configuration) -> Void = { _ in }) {
    gate = RequestGate(clock: time.clock)
    var configuration = ShopifyClient.Configuration()
    configuration.pageSize = pageSize
    configuration.pageCap = pageCap
    change(&configuration)
    client = ShopifyClient(configuration: configuration, gate: gate)
  }

  /// Returns the error thrown by a read.
  func fault(of server: ScriptedServer) async -> SyncFailure? {
    await fault(of: ShopRequest(domain: server.domain))
  }

  func fault(of request: ShopRequest) async -> SyncFailure? {
    do {
      _ = try await client.read(request)
      return nil
    } catch {
      return error as? SyncFailure
    }
  }
}

/// Responses of real shops, which are not part of the repository.
enum CapturedShops {
  static let folder: URL? = {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let named = ProcessInfo.processInfo.environment["COFFER_DATA"].map {
      [URL(fileURLWithPath: $0), URL(fileURLWithPath: $0).appendingPathComponent("shopify")]
    }
    let usual = package.deletingLastPathComponent().appendingPathComponent("shared/data/shopify")
    let folder = (named ?? [usual]).first {
      FileManager.default.fileExists(atPath: $0.appendingPathComponent("CORE.txt").path)
    }
    if folder == nil { print("No captured shops: their tests are left out. COFFER_DATA may say where they are.") }
    return folder
  }()

  /// All captures that are unmodified bodies of a page.
  static let pages: [URL] = {
    guard let folder, let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else {
      return []
    }
    return all.compactMap { $0 as? URL }
      .filter { $0.pathExtension == "json" && $0.deletingLastPathComponent().lastPathComponent != "tarte" }
      .sorted { $0.path < $1.path }
  }()
}
