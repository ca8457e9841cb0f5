import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferTesting
import Foundation

/// Runs a command that writes all values of a store anew; returns whether it is one. STORE is a directory.
func runRotation(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  if command == "rotate-by-itself" { return try await rotateByItself(path, hours: rest[0], hangs: rest[1] == "true") }
  guard command == "rotate-values" || command == "shred-values" else { return false }
  let base = try await openStore(path, rest[0])
  let settings = EncryptionSettings(hidesNames: rest[2] == "hidden")
  let root = try testRoot()
  say("ready")
  _ = readLine()
  let configuration = EncryptedEngine.Configuration(settings: settings)
  // The helper is killed and continues.
  let conversion: KeyRotation.Run? =
    switch rest[1] {
    case "encryption": try await EncryptedEngine.encrypt(base, configuration: configuration) { _ in root }
    case "decryption": try await EncryptedEngine.decrypt(base, configuration: configuration) { _ in root }
    default: nil
    }
  if let conversion {
    try await finish(conversion)
    try await base.close()
    return true
  }
  let engine = try await EncryptedEngine.open(base, configuration: configuration) { _ in root }
  if command == "shred-values" {
    let report = try await engine.shred()
    say(report.isComplete ? "complete" : "incomplete \(report.obstacles)")
    try await engine.close()
    return true
  }
  try await finish(engine.rotate())
  try await engine.close()
  return true
}

private func finish(_ rotation: KeyRotation.Run) async throws {
  let report = try await rotation.result()
  say(report.isComplete ? "complete" : "incomplete \(report.failures)")
}

/// Opens a store that rotates its keys by itself, with a clock that is ahead, until a line is read; prints the number
/// of values that this process has written anew. If it hangs, a commit of values does not end.
private func rotateByItself(_ path: String, hours: String, hangs: Bool) async throws -> Bool {
  let ahead = (Double(hours) ?? 0) * 3_600
  let values = Locked(0)
  var sqlite = SQLiteEngine.Configuration()
  sqlite.clock = StoreClock { Date() + ahead }
  let (told, end) = AsyncStream<Void>.makeStream()
  let events = CofferEvents { event in
    if case .keysReplaced(let replacement) = event.kind { values.withLock { $0 += replacement.values } }
    if event.location == "end" { end.finish() }
  }
  sqlite.events = events
  let base = try await SQLiteEngine.open(at: path + "/store.db", configuration: sqlite)
  var configuration = EncryptedEngine.Configuration()
  configuration.automaticRotation = KeyRotation.Policy(maximumAge: .seconds(3_600))
  let engine = try await EncryptedEngine.open(
    HangingEngine(base, hangs: hangs), configuration: configuration
  ) { _ in try testRoot() }
  if readLine() == nil { try await hang() }
  try await engine.close()
  events.emitLater("end", .closed)  // after those of the rotation
  for await _ in told {}
  say("\(values.withLock { $0 })")
  return true
}

/// An engine that prints a line before a commit of values, which then does not end.
private final class HangingEngine: EngineDecorator {
  let base: any StorageEngine
  private let hangs: Bool

  init(_ base: any StorageEngine, hangs: Bool) { (self.base, self.hangs) = (base, hangs) }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    if hangs, batch.operations.contains(where: { if case .put = $0 { true } else { false } }) {
      say("rotating")
      try await hang()
    }
    return try await base.commit(batch, from: origin)
  }
}
