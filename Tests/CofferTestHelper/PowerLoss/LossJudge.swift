import Coffer
import CofferTestSupport
import Foundation

/// Compares a store that has lost power with what was acknowledged before.
struct LossJudge {
  struct Verdict {
    var violations: [String] = []
    /// The values that were found; `nil` if the store could not be read.
    var contents: [String: Data]?
  }

  /// What the judge writes to each store, as further programs would.
  static let probe = ["probe": Data("x".utf8)]

  private let kind: LossKind
  private let directory: String
  private let acknowledged: Int
  /// The values that may be found.
  var possible: [[String: Data]]

  init(_ kind: LossKind, _ directory: String, _ acknowledged: Int, possible: [[String: Data]]) {
    (self.kind, self.directory, self.acknowledged, self.possible) = (kind, directory, acknowledged, possible)
  }

  /// Opens the store, reads all of it, and writes to it.
  func verdict() async -> Verdict {
    var verdict = Verdict()
    do {
      let engine = try await kind.open(directory)
      do { try await examine(engine, &verdict) } catch { verdict.violations = ["cannot be used: \(error)"] }
      try await engine.close()
      verdict.violations += try await copies()
      let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
      verdict.violations += files.filter { $0.contains("/quarantine/") }.map { "in the quarantine: \($0)" }
    } catch {
      verdict.violations = ["cannot be opened or closed: \(error)"]
    }
    return verdict
  }

  /// Examines what was copied from the store. A backup is there as a whole or not at all.
  private func copies() async throws -> [String] {
    guard let copy = kind.copy, access(directory + copy, F_OK) == 0 else {
      let isMissing = kind.copy != nil && acknowledged > kind.count
      return isMissing ? ["the copy is missing"] : []
    }
    let engine = try await SQLiteEngine.open(at: directory + copy)
    var violations = try await alarms(of: engine).map { "the copy: " + $0 }
    let (found, expected) = (try await contents(of: engine), kind.contents(kind.count))
    let isPart = kind == .commandCopy && acknowledged <= kind.count && found.allSatisfy { expected[$0] == $1 }
    if found != expected, !isPart { violations.append("the copy: \(difference(found, expected))") }
    try await engine.close()
    return violations
  }

  private func examine(_ engine: any StorageEngine, _ verdict: inout Verdict) async throws {
    let contents = try await contents(of: engine)
    verdict.contents = contents
    if !possible.contains(contents) {
      verdict.violations.append("after \(acknowledged) acknowledged commits: \(difference(contents, possible[0]))")
    }
    verdict.violations += try await alarms(of: engine)
    for (key, value) in Self.probe {
      _ = try await engine.commit(WriteBatch([.put(KeyName(key), value)]), from: StoreOrigin())
      say("ack")
      if try await engine.entry(KeyName(key))?.value != value {
        verdict.violations.append("a new value is not stored")
      }
    }
  }

  private func contents(of engine: any StorageEngine) async throws -> [String: Data] {
    var contents: [String: Data] = [:]
    if kind == .migration {
      let store = try TypedStore(engine: engine, schema: LossKind.schema(isNewest: true))
      for number in 0..<8 {
        let key = try KeyName("n/\(number)")
        contents[key.string] = Data("\(try await store.load([Int].self, for: key) ?? [])".utf8)
      }
      contents["probe"] = try await engine.entry("probe")?.value
      return contents
    }
    for entry in try await engine.withSnapshot({ try await $0.page(prefix: nil, after: nil, limit: 100) }) {
      contents[entry.key.string] = entry.value
    }
    return contents
  }

  private func difference(_ found: [String: Data], _ expected: [String: Data]) -> String {
    let keys = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
    let what = keys.map { "\($0.prefix(20)) has \(found[$0]?.count ?? -1) B, not \(expected[$0]?.count ?? -1)" }
    return what.joined(separator: ", ")
  }

  /// What `verify` and `doctor` would say.
  private func alarms(of engine: any StorageEngine) async throws -> [String] {
    var alarms: [String] = []
    let slots = engine.as(SlotEngine.self)
    if let database = engine.as(SQLiteEngine.self) ?? slots?.journal {
      let report = try await database.verify()
      if !report.isWhole { alarms += report.problems + report.damaged.map { "\($0) is damaged" } }
    }
    guard let slots else { return alarms }
    alarms += try await slots.problems()
    let recovery = try await slots.recoveryReport()
    if recovery.wasRebuilt || recovery.quarantined > 0 || !recovery.lost.isEmpty { alarms.append("\(recovery)") }
    return alarms
  }
}
