import Coffer
import CofferCore
import Foundation

/// Kills a second process repeatedly while it saves, and checks what the store contains afterwards.
func plugAct(_ stage: Stage) async throws {
  var random = SeededGenerator(seed: 20_261_121)
  var total = Aftermath()
  var round: UInt64 = 0
  // At least ten kills, and more until five of them interrupted a save.
  while round < 10 || (total.killsInsideASave < 5 && round < 40) {
    stage.console.progress("kill \(round + 1)")
    let lines = try saveUntilKilled(stage.path, round: round, random: &random)
    total.kills += 1
    let start = monotonicNanoseconds()
    try await stage.withEngine { engine in
      total.slowestOpen = max(total.slowestOpen, seconds(since: start))
      try await total.examine(engine, round: round, lines)
    }
    round += 1
  }
  let inside = total.killsInsideASave
  stage.console.line(
    "   Killed \(counted(total.kills, "time")), \(inside) of them in the middle of a save. Of those saves")
  stage.console.line("   \(total.finished) had been committed, and \(inside - total.finished) left no trace.")
  stage.console.line("   Opening the store after a kill took \(duration(total.slowestOpen)) at most.")
  stage.console.line("   (A kill is not a power cut, which no program can cause on your machine.)")
  stage.summary.kills = total.kills
  stage.summary.killsInsideASave = total.killsInsideASave
  stage.summary.productsConfirmedBeforeAKill = total.confirmed * PlugBatch.size
  stage.summary.lost = total.lost
  stage.summary.halfBatches = total.half
  stage.check(total.killsInsideASave > 0, "kills in the middle of a save", count: total.killsInsideASave)
  stage.check(
    total.lost == 0 && total.confirmed > 0,
    total.lost == 0 ? "products confirmed before a kill, all stored" : "confirmed batches lost",
    count: total.lost == 0 ? total.confirmed * PlugBatch.size : total.lost)
  stage.check(total.half == 0, "batches stored in part", count: total.half)
  stage.check(total.wrong == 0, "products other than what was saved", count: total.wrong)
}

/// Starts a second process that saves, kills it after a random number of steps, and returns its output.
private func saveUntilKilled(_ path: String, round: UInt64, random: inout SeededGenerator) throws -> [String] {
  let child = try Child(.save, [path, "\(round)"])
  defer { child.stop() }
  let saves = Int.random(in: 3...40, using: &random)
  var lines: [String] = []
  while lines.count < saves * 2 + 1, let line = try child.line() { lines.append(line) }
  usleep(UInt32.random(in: 0...400, using: &random))  // The last line announced a save: the kill falls within it.
  child.kill()
  return try lines + child.lines()
}

private struct Aftermath {
  var kills = 0
  var killsInsideASave = 0
  /// The number of interrupted saves that were committed but not yet confirmed.
  var finished = 0
  var confirmed = 0
  var lost = 0
  var half = 0
  var wrong = 0
  var slowestOpen = 0.0

  mutating func examine(_ engine: SQLiteEngine, round: UInt64, _ lines: [String]) async throws {
    let found = Locked<[KeyName: Data]>([:])
    try await engine.forEachEntry(under: PlugBatch.prefix(round: round)) { entry in
      found.withLock { $0[entry.key] = entry.value }
    }
    let stored = found.withLock { $0 }
    let begun = lines.filter { $0.hasPrefix("begin") }.count
    let acknowledged = lines.filter { $0.hasPrefix("confirmed") }.count
    confirmed += acknowledged
    if begun > acknowledged { killsInsideASave += 1 }
    var expected = 0
    for number in 0..<begun {
      let items = try PlugBatch(round: round, number: number).items
      let values = items.map { stored[$0.key] }
      let present = values.compactMap { $0 }.count
      expected += present
      if present != 0, present != items.count { half += 1 }
      if number < acknowledged, present < items.count { lost += 1 }
      if number >= acknowledged, present == items.count { finished += 1 }
      for (item, value) in zip(items, values) {
        guard let value else { continue }
        if (try? JSONDecoder().decode(Product.self, from: value)) != item.product { wrong += 1 }
      }
    }
    wrong += stored.count - expected  // values that were never saved
  }
}
