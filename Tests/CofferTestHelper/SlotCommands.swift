import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation

/// Runs a command on a store with a control directory, whose kind begins the command: `files-commit DIRECTORY STEP`.
/// Returns whether it is one.
func runOnSlots(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  let words = command.split(separator: "-", maxSplits: 1)
  guard words.count == 2, ["files", "prefs", "keychain", "sealed"].contains(words[0]) else { return false }
  let number = rest.last.flatMap { Int($0) } ?? 0
  func open(_ configuration: SlotEngine.Configuration = .patient) async throws -> SlotEngine {
    switch words[0] {
    case "files": try await .files(in: URL(fileURLWithPath: store), configuration: configuration)
    case "prefs": try await .preferences(suite: store, configuration: configuration)
    case "keychain": try await openKeychain(store, configuration)
    default: try await openSealed(store, configuration)
    }
  }
  switch words[1] {
  case "commit":
    let armed = Locked(false)
    let engine = try await open(stepping(number, armed: armed))
    armed.withLock { $0 = true }
    try await engine.commit(FileScenario.batch(), from: StoreOrigin())
    say("ack")
    try await engine.close()
    say("closed")
  case "open":
    try await open(stepping(number, armed: Locked(true))).close()
    say("closed")
  case "restore":
    let armed = Locked(false)
    let engine = try await open(stepping(number, armed: armed))
    armed.withLock { $0 = true }
    try await engine.restore(from: rest[0])
    say("restored")
    armed.withLock { $0 = false }
    try await engine.close()
  case "write": try await writePairs(to: try await open(), rest)
  case "increment": try await increment(try await open(), count: number)
  default: return false
  }
  return true
}

/// Returns a configuration that prints each step once armed, and kills the process at step number `wanted`.
func stepping(_ wanted: Int, armed: Locked<Bool>) -> SlotEngine.Configuration {
  let count = Locked(0)
  var configuration = SlotEngine.Configuration.patient
  configuration.atStep = { step in
    guard armed.withLock({ $0 }) else { return }
    say("step \(step.rawValue)")
    let present = count.withLock { count in
      count += 1
      return count
    }
    if present == wanted { kill(getpid(), SIGKILL) }
  }
  return configuration
}

/// Runs a step of a command, and prints its outcome.
func report(_ name: String, _ body: () async throws -> Void) async {
  do {
    try await body()
    say("\(name) ok")
  } catch let error as StorageError {
    say("\(name) \(error.code) \(error.description)")
  } catch {
    say("\(name) \(error)")
  }
}

/// Drops root privileges permanently.
func becomeNobody() throws {
  guard getuid() == 0 else { return }
  guard setgroups(0, nil) == 0, setgid(65_534) == 0, setuid(65_534) == 0 else { throw Usage() }
}
