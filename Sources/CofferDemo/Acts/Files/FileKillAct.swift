import Coffer
import CofferLocks
import Foundation

/// Where in a commit the second process waits for its end.
enum KillPoint: String, CaseIterable {
  case aside = "staged 3"
  case written = "recorded 1"
  case committed = "committed 1"
  case second = "placed 2"
  case fourth = "placed 4"
  case synced = "synced 1"

  var text: String {
    switch self {
    case .aside: "3 of 5 new values were put aside"
    case .written: "the journal was written, not committed"
    case .committed: "the journal had committed"
    case .second: "2 of 5 files were in their places"
    case .fourth: "4 of 5 files were in their places"
    case .synced: "all was in place, but not yet confirmed"
    }
  }

  /// The configuration of a handle that calls `reached` at this point of every commit after `arm`.
  func configuration(isArmed: Locked<Bool>, reached: @escaping @Sendable () -> Void) -> SlotConfiguration {
    let words = rawValue.split(separator: " ")
    let name = String(words[0])
    let left = Locked(Int(words[1]) ?? 1)
    var configuration = SlotConfiguration()
    configuration.atStep = { step in
      guard step.rawValue == name, isArmed.withLock({ $0 }) else { return }
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { reached() }
    }
    return configuration
  }
}

/// The first five products once more, as each numbered batch saves them. Both processes make the same ones.
enum FileBatch {
  static let size = 5
  /// The batch in which the second process is killed.
  static let last = 3

  static func product(_ product: Product, _ round: Int, _ number: Int) -> Product {
    var product = product
    product.updatedAt = "round \(round), batch \(number)"
    return product
  }
}

/// Kills a process that replaces five files at once, at chosen points of its commit, and looks at what is left.
func fileKillAct(_ stage: Stage) async throws {
  let (console, shelf) = (stage.console, stage.shelf)
  let keys = Array(shelf.keys.prefix(FileBatch.size))
  var total = FileAftermath()
  var rows: [[String]] = []
  for (round, point) in KillPoint.allCases.enumerated() {
    console.progress("kill \(round + 1)")
    let products = try keys.compactMap { key in
      try shelf.values[key].map { (key, try Shelf.codec.decode(Product.self, from: $0)) }
    }
    let before = keys.map { shelf.bytes(of: $0) }
    let lines = try replaceUntilKilled(shelf, round: round, at: point)
    total.kills += 1
    let begun = lines.filter { $0.hasPrefix("begin") }.count
    let acknowledged = lines.filter { $0.hasPrefix("confirmed") }.count
    // What batch 0 holds is what was there before the round.
    let versions: [[Data]] = try (0...begun).map { number in
      try products.enumerated().map { index, product in
        guard number > 0 else { return before[index] ?? Data() }
        return try Shelf.codec.encode(FileBatch.product(product.1, round, number))
      }
    }
    let atOnce = total.versions(keys.map { shelf.bytes(of: $0) }, versions)
    total.torn += atOnce.filter { $0 == nil }.count
    let start = monotonicNanoseconds()
    let after = try await shelf.withEngine { engine in
      total.slowestOpen = max(total.slowestOpen, seconds(since: start))
      return total.versions(try await engine.entries(keys).map { $0?.value }, versions)
    }
    total.judge(after, begun: begun, acknowledged: acknowledged)
    // From here on the directory must hold what was read, to the byte.
    for (index, key) in keys.enumerated() { shelf.expect(versions[after[index] ?? 0][index], for: key) }
    total.wrongFiles += try wrongFiles(shelf)
    let isNew = after.allSatisfy { $0 == begun }
    rows.append([
      point.text, "\(atOnce.filter { $0 == begun }.count) of \(keys.count)",
      isNew ? "all new" : after.allSatisfy { $0 == begun - 1 } ? "all old" : "MIXED",
    ])
  }
  console.line("   Each time, the second process was replacing \(FileBatch.size) files with one batch:")
  console.table(["killed when", "new files then", "once opened again"], rows)
  console.line("   Opening finished what the journal had committed and removed what it had not,")
  console.line("   in \(duration(total.slowestOpen)) at most.")
  total.report(stage)
}

/// Files that are not what they must be, and values that are still aside although nobody needs them.
private func wrongFiles(_ shelf: Shelf) throws -> Int {
  let found = try shelf.compare()
  let aside = shelf.directory.appendingPathComponent(".coffer/staged").path
  return (found.isExact ? 0 : found.count) + (try FileManager.default.contentsOfDirectory(atPath: aside).count)
}

/// Lets a second process save batches and kills it when it has reached the point. Returns what it had said.
private func replaceUntilKilled(_ shelf: Shelf, round: Int, at point: KillPoint) throws -> [String] {
  let child = try Child(.replace, [shelf.directory.path, "\(round)", point.rawValue])
  defer { child.stop() }
  var lines: [String] = []
  while let line = try child.line(), line != "there" { lines.append(line) }
  child.kill()
  lines += try child.lines()
  child.stop()
  guard child.wasKilled else { throw DemoError("the second process ended before it was killed: \(point.text)") }
  return lines
}

/// What is found after kills.
struct FileAftermath {
  var kills = 0
  var confirmed = 0
  var lost = 0
  var half = 0
  /// Files that were neither old nor new in the moment of a kill.
  var torn = 0
  var wrongFiles = 0
  var slowestOpen = 0.0

  /// Which batch each value is from; `nil` when it is from none.
  func versions(_ values: [Data?], _ batches: [[Data]]) -> [Int?] {
    values.enumerated().map { index, value in batches.lastIndex { $0[index] == value } }
  }

  /// Counts one kill: the values must all be from one batch, and from none older than the last that was confirmed.
  mutating func judge(_ versions: [Int?], begun: Int, acknowledged: Int) {
    confirmed += acknowledged
    if Set(versions).count != 1 { half += 1 }
    lost += versions.filter { ($0 ?? -1) < acknowledged }.count
    torn += versions.filter { ($0 ?? .max) > begun }.count
  }

  func report(_ stage: Stage) {
    stage.summary.fileKills = kills
    stage.summary.filesLost = lost
    stage.summary.halfFileBatches = half
    stage.check(kills == KillPoint.allCases.count, "kills in the middle of a batch", count: kills)
    stage.check(half == 0, "batches half there", count: half)
    stage.check(
      lost == 0 && confirmed > 0, lost == 0 ? "files confirmed before a kill, all there" : "confirmed files lost",
      count: lost == 0 ? confirmed * FileBatch.size : lost)
    stage.check(torn == 0, "files torn, even in the moment of a kill", count: torn)
    stage.check(wrongFiles == 0, "files missing, wrong or left over after a kill", count: wrongFiles)
  }
}
