import Coffer
import CofferCore
import Foundation

/// The step of a commit at which the second process is killed. The raw value is a step and its ordinal.
enum KillPoint: String, CaseIterable {
  case aside = "staged 3"
  case written = "recorded 1"
  case committed = "committed 1"
  case second = "placed 2"
  case fourth = "placed 4"
  case synced = "synced 1"

  var text: String {
    switch self {
    case .aside: "3 of 5 new values were staged"
    case .written: "the journal was written, not committed"
    case .committed: "the journal had committed"
    case .second: "2 of 5 files were published"
    case .fourth: "4 of 5 files were published"
    case .synced: "all were published, but not confirmed"
    }
  }

  /// Returns a configuration that calls `reached` at this step, once `isArmed` is true.
  func configuration(isArmed: Locked<Bool>, reached: @escaping @Sendable () -> Void) -> SlotEngine.Configuration {
    let words = rawValue.split(separator: " ")
    let name = String(words[0])
    let left = Locked(Int(words[1]) ?? 1)
    var configuration = SlotEngine.Configuration()
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

/// The first five products as each numbered batch saves them. Both processes derive the same values.
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

/// Kills a process at chosen steps of a commit that replaces five files, and checks what the store contains afterwards.
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
    // Batch 0 stands for the values before the round.
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
    // From now on the directory must contain exactly the bytes that were read.
    for (index, key) in keys.enumerated() { shelf.expect(versions[after[index] ?? 0][index], for: key) }
    total.wrongFiles += try wrongFiles(shelf)
    let isNew = after.allSatisfy { $0 == begun }
    rows.append([
      point.text, "\(atOnce.filter { $0 == begun }.count) of \(keys.count)",
      isNew ? "all new" : after.allSatisfy { $0 == begun - 1 } ? "all old" : "MIXED",
    ])
  }
  console.line("   Each time, the second process was replacing \(FileBatch.size) files with one batch:")
  console.table(["killed when", "new files then", "after reopening"], rows)
  console.line("   Opening rolled forward what the journal had committed and removed the rest,")
  console.line("   in \(duration(total.slowestOpen)) at most.")
  total.report(stage)
}

/// Returns the number of files that differ from their expected content, and of staged values that were not removed.
private func wrongFiles(_ shelf: Shelf) throws -> Int {
  let found = try shelf.compare()
  let aside = shelf.directory.appendingPathComponent(".coffer/staged").path
  return (found.isExact ? 0 : found.count) + (try FileManager.default.contentsOfDirectory(atPath: aside).count)
}

/// Starts a second process that saves batches, kills it at the given step, and returns its output.
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

/// The counts of what is found after kills.
struct FileAftermath {
  var kills = 0
  var confirmed = 0
  var lost = 0
  var half = 0
  /// The number of files that were neither old nor new at the moment of a kill.
  var torn = 0
  var wrongFiles = 0
  var slowestOpen = 0.0

  /// Returns the number of the batch that each value is from, or `nil` if it is from none.
  func versions(_ values: [Data?], _ batches: [[Data]]) -> [Int?] {
    values.enumerated().map { index, value in batches.lastIndex { $0[index] == value } }
  }

  /// Counts one kill. The values must all be from one batch, which must not be older than the last confirmed one.
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
    stage.check(half == 0, "batches stored in part", count: half)
    stage.check(
      lost == 0 && confirmed > 0, lost == 0 ? "files confirmed before a kill, all stored" : "confirmed files lost",
      count: lost == 0 ? confirmed * FileBatch.size : lost)
    stage.check(torn == 0, "files torn, even at the moment of a kill", count: torn)
    stage.check(wrongFiles == 0, "files missing, wrong or left over after a kill", count: wrongFiles)
  }
}
