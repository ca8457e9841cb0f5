import CofferCore
import CofferTestSupport
import Foundation

/// Runs a command of a sweep on the directory of a template; returns whether it is one.
func runSweep(_ command: String, _ root: String, _ rest: [String]) async throws -> Bool {
  guard ["sweep-build", "sweep", "sweep-reader"].contains(command) else { return false }
  guard let kind = rest.first.flatMap(SweptKind.init) else { throw Usage() }
  switch command {
  case "sweep-build":
    try await SweepBuilder.build(kind, in: root)
    say("built")
  case "sweep-reader":
    try await SweepReader(kind, root).serve()
  default:
    guard rest.count == 4, let seed = UInt64(rest[1]), let first = Int(rest[2]), let count = Int(rest[3]) else {
      throw Usage()
    }
    let sweeper = try Sweeper(kind, root, seed: seed, isVerbose: count == 1)
    for number in first..<(first + count) {
      say("at \(number)")
      try await sweeper.injure(number)
    }
    sweeper.end()
  }
  return true
}

/// The states of a template, with the files to restore them from and the judges of their observations.
private final class SweepStates {
  struct State {
    let state: SweepState
    let files: SweepFiles
    let judge: SweepJudge
  }

  let all: [State]

  init(_ kind: SweptKind, _ root: String) throws {
    let template = try SweepTemplate(at: root)
    all = try template.states.map { state in
      State(
        state: state, files: try SweepFiles(in: template.directory(of: state)),
        judge: SweepJudge(state, largest: kind.largestValue))
    }
  }
}

/// Damages stores one after another, and reads them.
private final class Sweeper {
  private let kind: SweptKind
  private let root: String
  private let seed: UInt64
  private let states: SweepStates
  /// Whether every refusal is printed, to analyze a single injury.
  private let isVerbose: Bool
  private let work: String
  private var reader: HelperProcess?
  private var (whole, refused, older) = (0, 0, 0)

  init(_ kind: SweptKind, _ root: String, seed: UInt64, isVerbose: Bool) throws {
    (self.kind, self.root, self.seed, self.isVerbose) = (kind, root, seed, isVerbose)
    states = try SweepStates(kind, root)
    work = root + "/work-\(getpid())"
    guard mkdir(work, 0o700) == 0 else { throw TestFailure("mkdir \(work): errno \(errno)") }
  }

  func injure(_ number: Int) async throws {
    var generator = SeededGenerator(seed: seed ^ UInt64(number) &* 0x9E6C_63D0_876A_9A99)
    let index = Int.random(in: 0..<states.all.count, using: &generator)
    let work = "\(work)/\(number)"
    defer { try? FileManager.default.removeItem(atPath: work) }
    let isWarm = Bool.random(using: &generator)
    try states.all[index].files.restore(to: work)
    if states.all[index].state.isOpen {
      try await injureOpenStore(number, index, work, isWarm)
    } else {
      let (injury, what) = try inflict(number, index, work)
      judge(await look(kind, work, states.all[index].state), index, injury, what)
    }
    try await waitUntilClosed(work)
  }

  private func injureOpenStore(_ number: Int, _ index: Int, _ work: String, _ isWarm: Bool) async throws {
    let (state, store) = (states.all[index].state, try await kind.open(work))
    if isWarm { _ = await store.observe(state) }
    let (injury, what) = try inflict(number, index, work)
    judge(await store.observe(state), index, injury, what + ", in the process that has it open")
    try ask(index, work, what, injury)
    try? await store.engine.close()
  }

  /// Damages one file.
  private func inflict(_ number: Int, _ index: Int, _ work: String) throws -> (SweepInjury, what: String) {
    let state = states.all[index].state
    guard let mutation = try SweepMutation(seed: seed, number: number, of: work, isOpen: state.isOpen) else {
      throw TestFailure("there is no file to damage")
    }
    try mutation.apply(in: work)
    return (try kind.injury(mutation, state), "\(number) [\(state.name)] \(mutation)")
  }

  private func judge(_ observation: SweepObservation, _ index: Int, _ injury: SweepInjury, _ what: String) {
    let verdict = states.all[index].judge.verdict(observation, of: injury)
    if isVerbose {
      say("state \(what): reported \(observation.toldLoss ?? "nothing"), found \(observation.findings)")
      for (way, answers) in [("entry", observation.entries), ("listing", observation.listed)] {
        for case (let key, .refused(let why)) in answers { say("\(way) '\(key)': \(why)") }
      }
    }
    if verdict.refused + verdict.older == 0 { whole += 1 }
    if verdict.refused > 0 { refused += 1 }
    if verdict.older > 0 { older += 1 }
    if !verdict.violations.isEmpty {
      let more = verdict.violations.count > 3 ? "; and \(verdict.violations.count - 3) more" : ""
      say("bad \(what): \(verdict.violations.prefix(3).joined(separator: "; "))\(more)")
    }
  }

  /// Makes another process open and read the store.
  private func ask(_ index: Int, _ work: String, _ what: String, _ injury: SweepInjury) throws {
    let reader = try self.reader ?? HelperProcess(["sweep-reader", root, kind.rawValue])
    self.reader = reader
    let question = SweepQuestion(state: index, store: work, injury: injury)
    reader.tell(String(decoding: try JSONEncoder().encode(question), as: UTF8.self))
    while true {
      guard let line = try reader.line(within: 30_000) else {
        say("bad \(what), in another process: it has ended or hangs")
        reader.stop()
        self.reader = nil
        return
      }
      if line == "end" { return }
      say("bad \(what), in another process: \(line)")
    }
  }

  func end() {
    reader?.stop()
    try? FileManager.default.removeItem(atPath: work)
    say("summary \(whole) read whole, \(refused) refused in part or whole, \(older) reported as older")
    say("done")
  }
}

/// Reads stores while another process has them open.
private final class SweepReader {
  private let kind: SweptKind
  private let states: SweepStates

  init(_ kind: SweptKind, _ root: String) throws {
    self.kind = kind
    states = try SweepStates(kind, root)
  }

  func serve() async throws {
    while let line = readLine() {
      let question = try JSONDecoder().decode(SweepQuestion.self, from: Data(line.utf8))
      let state = states.all[question.state]
      let verdict = state.judge.verdict(await look(kind, question.store, state.state), of: question.injury)
      for violation in verdict.violations.prefix(3) { say(violation) }
      try await waitUntilClosed(question.store)
      say("end")
    }
  }
}

/// A request to read a store in another process.
private struct SweepQuestion: Codable {
  /// The index of the state in the template.
  let state: Int
  let store: String
  let injury: SweepInjury
}

/// Opens, observes and closes a store.
private func look(_ kind: SweptKind, _ directory: String, _ state: SweepState) async -> SweepObservation {
  do {
    let store = try await kind.open(directory)
    let observation = await store.observe(state)
    try? await store.engine.close()
    return observation
  } catch {
    return SweepStore.observation(state, of: error)
  }
}

/// Waits until this process has no open file below a directory: the next store may reuse the inodes, by which SQLite
/// identifies the open files of a process.
func waitUntilClosed(_ directory: String) async throws {
  try await eventually("the files are closed") {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
    }.allSatisfy { !$0.hasPrefix(directory + "/") }
  }
}
