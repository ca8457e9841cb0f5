import Coffer
import Foundation

/// Saves while a second process watches, which must receive every change exactly once and in order.
func watchAct(_ stage: Stage) async throws {
  let child = try Child(.watch, stage.path("shop.db"))
  guard child.line() == "ready" else { throw DemoError("the second process did not become ready") }
  let keys = (0..<400).map { "watch/\($0)" } + ["last"]
  try await stage.withDatabase { engine in
    let store = TypedStore(engine: engine)
    for key in keys { try await store.save("changed", for: KeyName(key), durability: .relaxed) }
    let received = child.lines()
    try stage.check(received == keys, received.count, "changes received there, each once and in order")
  }
}
