import Coffer
import CofferTestSupport
import Foundation

/// Restores the files that losses of power leave, one state after another, opens each, and compares what it finds with
/// what was acknowledged.
final class LossReplay {
  private let kind: LossKind
  private let root: String
  private let seed: UInt64
  private let pool: DevicePool
  private let recording: DeviceRecording
  private let inodes: Set<UInt64>
  /// The number of the operation after which power is lost at the earliest.
  private let first: Int
  private var (states, seconds) = (0, 0)
  private var work: String { root + "/work" }

  init(_ kind: LossKind, _ root: String, seed: UInt64) throws {
    (self.kind, self.root, self.seed) = (kind, root, seed)
    pool = DevicePool(root + "/pool")
    recording = try Self.recording(root, pool)
    inodes = recording.inodes
    first = recording.operations.firstIndex { $0.kind == .say && $0.text == "begin\n" } ?? 0
  }

  /// Reads the recording, and compares the state at its end with the files of the process: nothing may be missing.
  private static func recording(_ root: String, _ pool: DevicePool) throws -> DeviceRecording {
    let (live, inode) = (root + "/live", root + "/inode")
    if access(live, F_OK) == 0 {
      let found = try DeviceState(of: live)
      let recording = try DeviceRecording(root + "/log", from: DeviceState(root: found.root))
      let replayed = recording.end
      for (name, file) in found.tree where found.names[file] == nil && !name.hasSuffix("-shm") {
        guard replayed.tree[name] == file, replayed.files[file] == found.files[file] else {
          throw TestFailure("The recording has not all changes of \(name).")
        }
      }
      guard replayed.tree.count == found.tree.count else { throw TestFailure("The recording has other files.") }
      try Data("\(found.root)".utf8).write(to: URL(fileURLWithPath: inode))
      try pool.take(live)
    }
    let text = try String(decoding: Data(contentsOf: URL(fileURLWithPath: inode)), as: UTF8.self)
    return try DeviceRecording(root + "/log", from: DeviceState(root: UInt64(text) ?? 0))
  }

  /// Replays a loss, and for some of them a second one during the recovery.
  func lose(_ number: Int) async throws {
    var generator = SeededGenerator(seed: seed ^ UInt64(number) &* 0x9E6C_63D0_876A_9A99)
    let model = PowerLoss.Model.allCases[number % PowerLoss.Model.allCases.count]
    let loss = PowerLoss(
      first...recording.operations.count, model: model, seed: .random(in: 0 ... .max, using: &generator))
    let state = loss.state(of: recording)
    let acknowledged = recording.count("ack", before: loss.end)
    try await examine(state, acknowledged, "\(number) \(loss)", secondSeed: number % 4 == 0 ? generator.next() : nil)
  }

  private func examine(_ state: DeviceState, _ acknowledged: Int, _ what: String, secondSeed: UInt64?) async throws {
    states += 1
    try pool.restore(state, to: work)
    let log = root + "/recovery"
    let before = try secondSeed.map { _ in try DeviceState(of: work) }
    if before != nil { try record(to: log) }
    let judge = LossJudge(kind, work, acknowledged)
    for violation in await judge.violations() { say("bad \(what): \(violation)") }
    try await waitUntilClosed(work)
    if before != nil { try record(to: nil) }
    try pool.take(work)
    if let before, let secondSeed { try await loseAgain(log, before, acknowledged, what, secondSeed) }
    try pool.keepOnly(inodes)
  }

  private func loseAgain(
    _ log: String, _ before: DeviceState, _ acknowledged: Int, _ what: String, _ seed: UInt64
  ) async throws {
    let recovery = try DeviceRecording(log, from: before)
    unlink(log)
    guard !recovery.operations.isEmpty else { return }
    seconds += 1
    let model = PowerLoss.Model.allCases[Int(seed % 2)]
    let loss = PowerLoss(0...recovery.operations.count, model: model, seed: seed)
    try await examine(
      loss.state(of: recovery), acknowledged, "\(what); then in the recovery \(loss)", secondSeed: nil)
  }

  /// Leaves out one sync after the other, and renames files before their syncs, and counts the programs of which a
  /// replay notices that.
  /// - Parameter number: the number of the first operation that is left out.
  func leaveOutSyncs(from number: Int, states count: Int) async throws -> Bool {
    let syncs = recording.syncs.filter { $0 >= first }
    let broken = syncs.map { ("sync \($0)", $0, recording.omitting($0)) }
    let late = recording.withLateSyncs.map { ("late sync before \($0.rename)", $0.rename, $0.recording) }
    var missed: [String] = []
    for (name, start, program) in broken + late where start >= max(first, number) {
      let isNoticed = try await notices(program, around: start, states: count)
      if !isNoticed { missed.append("\(name) of \(recording.name(of: recording.operations[start].file))") }
    }
    say("summary missed \(missed.count) of \(broken.count + late.count): \(missed.joined(separator: ", "))")
    say("done")
    return true
  }

  /// Whether a loss soon after an operation of a broken program leaves a state that is noticed.
  private func notices(_ program: DeviceRecording, around start: Int, states: Int) async throws -> Bool {
    let end = min(program.operations.count, start + 24)
    for number in 0..<states {
      if number % 50 == 0 { say("at \(start)") }
      let model = PowerLoss.Model.allCases[number % 2]
      let loss = PowerLoss(min(start, end)...end, model: model, seed: seed &+ UInt64(number))
      try pool.restore(loss.state(of: program), to: work)
      let judge = LossJudge(kind, work, program.count("ack", before: loss.end))
      let violations = await judge.violations()
      try await waitUntilClosed(work)
      try pool.take(work)
      try pool.keepOnly(inodes)
      if !violations.isEmpty { return true }
    }
    return false
  }

  private func record(to path: String?) throws {
    guard let symbol = dlsym(nil, "coffer_record_to") else { throw TestFailure("the recording library is missing") }
    let record = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>?) -> Void).self)
    if let path { path.withCString { record($0) } } else { record(nil) }
  }

  func end() {
    say("summary \(states) states, \(seconds) second losses, of \(recording.operations.count) operations")
    say("done")
  }
}

/// Compares a store that has lost power with what was acknowledged before.
private struct LossJudge {
  let kind: LossKind
  let directory: String
  let acknowledged: Int

  init(_ kind: LossKind, _ directory: String, _ acknowledged: Int) {
    (self.kind, self.directory, self.acknowledged) = (kind, directory, acknowledged)
  }

  /// Opens the store, reads all of it, and writes to it.
  func violations() async -> [String] {
    do {
      let engine = try await kind.open(directory)
      var violations: [String] = []
      do { violations = try await found(in: engine) } catch { violations = ["cannot be used: \(error)"] }
      try await engine.close()
      if kind == .backup, access(directory + "/backup.db", F_OK) == 0 {
        let backup = try await SQLiteEngine.open(at: directory + "/backup.db")
        if try await contents(of: backup) != kind.contents(kind.count) {
          violations.append("the backup has other values")
        }
        violations += try await alarms(of: backup).map { "the backup: " + $0 }
        try await backup.close()
      }
      return violations
    } catch {
      return ["cannot be opened or closed: \(error)"]
    }
  }

  private func found(in engine: any StorageEngine) async throws -> [String] {
    var violations: [String] = []
    let contents = try await contents(of: engine)
    let possible = kind.possible(acknowledged)
    if !possible.contains(contents) {
      violations.append("after \(acknowledged) acknowledged commits: \(difference(contents, possible[0]))")
    }
    violations += try await alarms(of: engine)
    let probe = StoreKey("probe")
    _ = try await engine.commit(WriteBatch([.put(probe, Data("x".utf8))]), from: StoreOrigin())
    if try await engine.entry(probe)?.value != Data("x".utf8) { violations.append("a new value is not stored") }
    return violations
  }

  private func contents(of engine: any StorageEngine) async throws -> [String: Data] {
    var contents: [String: Data] = [:]
    if kind == .migration {
      let store = try TypedStore(engine: engine, schema: LossKind.schema(isNewest: true))
      for number in 0..<8 {
        let key = try StoreKey("n/\(number)")
        contents[key.string] = Data("\(try await store.load([Int].self, for: key) ?? [])".utf8)
      }
      return contents
    }
    for entry in try await engine.withSnapshot({ try await $0.page(prefix: nil, after: nil, limit: 100) }) {
      contents[entry.key.string] = entry.value
    }
    contents["probe"] = nil
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
