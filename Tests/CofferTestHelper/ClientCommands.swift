import CofferPersistence
import CofferTesting
import Foundation

private struct NumberClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
  func restoreState() async throws {
    if let saved = try await persistence.load(Int.self, for: "number") { number = saved }
  }
}

/// Sets a number of a client to 7 and ends or waits: "client STORE MODE INTERVAL".
func runClients(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  guard command == "client" else { return false }
  if rest[0] == "handler" {
    signal(SIGTERM) { _ in
      say("handled")
      _exit(9)
    }
  }
  let engine = try await SQLiteEngine.open(at: store)
  if rest[0] == "back" {
    let store = TypedStore(engine: engine, writePolicy: .back(WriteBackPolicy(window: .seconds(3_600))))
    store.flushAtTermination()
    try await store.save(7, for: "number")
    say("edited")
    exit(0)
  }
  let session = ClientSession(engine: engine, interval: .seconds(Double(rest[1]) ?? 1))
  session.saveAtTermination()
  let client = try await session.start { NumberClient(persistence: $0) }
  client.client.number = 7
  say("edited")
  switch rest[0] {
  case "exit": exit(0)
  case "fork":
    var signals = sigset_t()
    sigfillset(&signals)
    let child = try forkProcess()
    if child == 0 {
      // Only what is safe between fork and exec. The thread of a task blocks signals; the child ends in any case.
      alarm(60)
      sigprocmask(SIG_UNBLOCK, &signals, nil)
      while true { pause() }
    }
    say("child \(child)")
    var status: Int32 = 0
    waitpid(child, &status, 0)
    say("ended \(status & 0x7F)")
  default: break
  }
  try await hang()
  return true
}

/// Calls fork(2), which Swift does not offer, as a C library may.
private func forkProcess() throws -> pid_t {
  guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "fork") else { throw CocoaError(.featureUnsupported) }
  return unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
}
