import Coffer
import Foundation

/// Kills a second process ten times while it saves batches, and checks what the store contains afterwards.
func killAct(_ stage: Stage) async throws {
  var (confirmed, lost, half) = (0, 0, 0)
  for _ in 0..<10 {
    let child = try Child(.save, stage.path("shop.db"))
    let saves = Int.random(in: 3...40)
    for _ in 0..<saves { _ = child.line() }
    usleep(.random(in: 0...400))
    child.kill()
    let acknowledged = saves + child.lines().count
    try await stage.withDatabase { engine in
      let store = TypedStore(engine: engine, cache: CachePolicy(maximumCount: 0))
      for number in 0..<acknowledged + 2 {
        let found = try await store.loadAll(Product.self, keys: batch(number).map { try .numbered($0, in: "plug") })
        let present = zip(batch(number), found).filter { $1 == Product(number: $0) }.count
        if number < acknowledged, present < found.count { lost += 1 }
        if present != 0, present < found.count { half += 1 }
      }
      confirmed += acknowledged
      try await engine.commit(WriteBatch([.clear(prefix: "plug/")]), from: StoreOrigin())
    }
  }
  try stage.say("A kill is not a power cut, which no program can cause on your machine.")
  try stage.check(lost == 0 && confirmed >= 30, confirmed - lost, "batches confirmed before a kill, all stored")
  try stage.check(half == 0, half, "batches stored in part")
}
