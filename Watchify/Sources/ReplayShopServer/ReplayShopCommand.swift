import Foundation
import ReplayShop

@main
enum ReplayShopCommand {
  static func main() {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      if arguments.asksForHelp {
        say(Arguments.help)
      } else {
        try serve(arguments)
      }
    } catch {
      FileHandle.standardError.write(Data("replay-shop: \(error)\n".utf8))
      exit(error is Arguments.Mistake ? 64 : 1)
    }
  }

  private static func serve(_ arguments: Arguments) throws {
    // Blocked before any thread starts, so that only this thread receives the signals.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    let server = ReplayServer(feed: try feed(arguments), timeline: arguments.isDemo ? .demo : nil)
    if let path = arguments.script {
      let lines = try read(path)
      server.script(
        try String(decoding: lines, as: UTF8.self).split(whereSeparator: \.isNewline).map {
          try ScriptEntry(String($0))
        }
      )
    }
    let port = try server.start(port: arguments.port)
    say("listening on http://127.0.0.1:\(port)\n")
    while true {
      var pause = timespec(tv_sec: arguments.stepEvery ?? 86_400, tv_nsec: 0)
      if sigtimedwait(&signals, nil, &pause) > 0 { break }
      guard errno == EAGAIN, arguments.stepEvery != nil else { continue }
      if let step = try server.advance() { say("\(step)\n") }
    }
    server.stop()
  }

  private static func feed(_ arguments: Arguments) throws -> ShopFeed {
    if arguments.isDemo { return ReplayTimeline.demoShop.feed }
    if let path = arguments.feed { return try ShopFeed(recorded: try read(path)) }
    return ShopGenerator(
      seed: arguments.seed, products: arguments.products ?? 48, variants: arguments.variants
    ).feed
  }

  private static func read(_ path: String) throws(Arguments.Mistake) -> Data {
    do {
      return try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw Arguments.Mistake(description: "'\(path)' cannot be read.")
    }
  }

  /// Writes a text to standard output without buffering, which `print` would do in a pipe.
  private static func say(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
