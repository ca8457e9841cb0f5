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
  private var (losses, states, seconds, programs, noticed) = (0, 0, 0, 0, 0)
  /// The states that were examined, with the number of acknowledged steps.
  private var known: Set<[Int]> = []
  /// The values that may be found after a number of acknowledged steps.
  private var possible: [Int: [[String: Data]]] = [:]
  /// The numbers of programs whose defect need not be noticed, by their reasons.
  private var needless: [String: Int] = [:]
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

  /// Replays a loss, and for some of them a second one during the recovery. A state that was examined before is not
  /// examined again.
  func lose(_ number: Int) async throws {
    var generator = SeededGenerator(seed: seed ^ UInt64(number) &* 0x9E6C_63D0_876A_9A99)
    let model = PowerLoss.Model.allCases[number % PowerLoss.Model.allCases.count]
    let loss = PowerLoss(
      first...recording.operations.count, model: model, seed: .random(in: 0 ... .max, using: &generator))
    let state = loss.state(of: recording)
    let acknowledged = recording.count("ack", before: loss.end)
    losses += 1
    let isNew = known.insert([state.fingerprint, acknowledged]).inserted
    if number % 4 == 0 {
      try await loseTwice(state, acknowledged, "\(number) \(loss)", seed: generator.next())
    } else if isNew {
      report(try await examine(state, judge(acknowledged)).violations, "\(number) \(loss)")
    }
  }

  private func judge(_ acknowledged: Int) -> LossJudge {
    let values = possible[acknowledged] ?? kind.possible(acknowledged)
    possible[acknowledged] = values
    return LossJudge(kind, work, acknowledged, possible: values)
  }

  private func report(_ violations: [String], _ what: String) {
    for violation in violations { say("bad \(what): \(violation)") }
  }

  private func examine(_ state: DeviceState, _ judge: LossJudge) async throws -> LossJudge.Verdict {
    states += 1
    try pool.restore(state, to: work)
    let verdict = await judge.verdict()
    try await waitUntilClosed(work)
    try pool.take(work)
    try pool.keepOnly(inodes)
    return verdict
  }

  /// Loses power once more in the recovery of a store, which has acknowledged its own value at its end.
  private func loseTwice(_ state: DeviceState, _ acknowledged: Int, _ what: String, seed: UInt64) async throws {
    states += 1
    try pool.restore(state, to: work)
    let (before, log) = (try DeviceState(of: work), root + "/recovery")
    try record(to: log)
    var judge = judge(acknowledged)
    let verdict = await judge.verdict()
    try await waitUntilClosed(work)
    try record(to: nil)
    try pool.take(work)
    report(verdict.violations, what)
    let recovery = try DeviceRecording(log, from: before)
    unlink(log)
    if let found = verdict.contents {
      seconds += 1
      let model = PowerLoss.Model.allCases[Int(seed % 2)]
      let loss = PowerLoss(0...recovery.operations.count, model: model, seed: seed)
      let isAcknowledged = recovery.count("ack", before: loss.end) > 0
      judge.possible =
        isAcknowledged ? [found.merging(LossJudge.probe) { $1 }] : [found, found.merging(LossJudge.probe) { $1 }]
      let second = try await examine(loss.state(of: recovery), judge)
      report(second.violations, "\(what); then in the recovery \(loss)")
    }
    try pool.keepOnly(inodes)
  }

  /// Leaves out syncs, and renames files before their syncs, and reports the programs of which a replay does not notice
  /// that.
  /// - Parameter number: The thousandth of the programs that are tried.
  func breakPrograms(_ number: Int) async throws {
    var generator = SeededGenerator(seed: seed)
    let delays = recording.delays.filter { $0.sync >= first }.shuffled(using: &generator)
    for (index, delay) in delays.enumerated() where index * 1_000 / delays.count == number {
      let program = recording.delaying(delay)
      let exposures = PowerLoss.Exposure.all(of: program)
      programs += 1
      if exposures.isEmpty { needless["Other syncs cover it.", default: 0] += 1 }
      if let reasons = NeedlessSync.reasons(for: program, exposures) {
        for reason in reasons { needless[reason, default: 0] += 1 }
      } else if try await notices(program, exposures) {
        noticed += 1
      } else {
        let name = "\(delay.until == .max ? "no" : "late") sync of \(recording.path(delay.sync)), \(delay.sync)"
        let lost = Set(exposures.flatMap(\.operations).map { "\(recording.operations[$0].kind) \(recording.path($0))" })
        say("bad \(number) \(name), is not noticed, though it may lose \(lost.sorted().joined(separator: ", "))")
      }
    }
  }

  /// Whether a loss soon after a sync that a broken program lacks leaves a state that is noticed.
  private func notices(_ program: DeviceRecording, _ exposures: [PowerLoss.Exposure]) async throws -> Bool {
    known = []
    for number in 0..<1_500 {
      let loss = PowerLoss(exposures[number % exposures.count], seed: seed &+ UInt64(number))
      let state = loss.state(of: program)
      let acknowledged = program.count("ack", before: loss.end)
      guard known.insert([state.fingerprint, acknowledged]).inserted else { continue }
      let verdict = try await examine(state, judge(acknowledged))
      if !verdict.violations.isEmpty { return true }
    }
    return false
  }

  private func record(to path: String?) throws {
    guard let symbol = dlsym(nil, "coffer_record_to") else { throw TestFailure("the recording library is missing") }
    let record = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>?) -> Void).self)
    if let path { path.withCString { record($0) } } else { record(nil) }
  }

  func end() {
    if programs > 0 {
      let reasons = needless.sorted { $0.key < $1.key }.map { "\($0.value) x \($0.key)" }.joined(separator: " ")
      say("summary \(programs) programs, \(noticed) noticed; why others need not be: \(reasons)")
    } else {
      let length = recording.operations.count
      say("summary \(losses) losses, \(states) states, \(seconds) second losses, of \(length) operations")
    }
    say("done")
  }
}
