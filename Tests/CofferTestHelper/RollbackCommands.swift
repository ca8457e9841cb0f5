import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import Foundation

/// Runs a command on a store with an anchor; returns whether it is one. STORE is a directory.
func runOnAnchors(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "anchored-steps": try await anchorInSteps(path, rest[0], anchor: rest[1], Set(rest.dropFirst(2)))
  case "anchored-write": try await writeAnchored(path, rest[0], anchor: rest[1], seed: UInt64(rest[2]) ?? 0)
  default: return false
  }
  return true
}

/// An anchor that waits for a line before and after each access, at which the process can be killed.
private struct SteppingAnchor: RollbackAnchor {
  let anchor: FileAnchor
  var description: String { anchor.description }

  func record() async throws -> Data? {
    let record = try await anchor.record()
    step("read")
    return record
  }

  func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    step("update")
    try await anchor.update(change)
    step("updated")
  }

  private func step(_ name: String) {
    say(name)
    _ = readLine()
  }
}

/// Opens a store, or accepts it as it is, and writes and flushes it twice, in steps.
private func anchorInSteps(_ path: String, _ kind: String, anchor: String, _ options: Set<String>) async throws {
  let root = try testRoot()
  var configuration = EncryptedEngine.Configuration()
  configuration.rollbackProtection = RollbackProtection(
    anchor: SteppingAnchor(anchor: FileAnchor(URL(fileURLWithPath: anchor))), interval: .seconds(86_400),
    timeout: .seconds(3_600))
  let base = try await openStore(path, kind)
  let engine =
    options.contains("accept")
    ? try await EncryptedEngine.open(base, configuration: configuration, acceptingRollback: true) { _ in root }
    : try await EncryptedEngine.open(base, configuration: configuration) { _ in root }
  for number in 0..<2 {
    try await engine.commit(WriteBatch([.put("stepped", Data("\(number)".utf8))]), from: StoreOrigin())
    try await engine.flush()
  }
  try await engine.close()
  say("closed")
}

/// Opens, writes, rotates and closes a store without end, until it is killed. The anchor is updated all the time.
private func writeAnchored(_ path: String, _ kind: String, anchor: String, seed: UInt64) async throws {
  let root = try testRoot()
  var configuration = EncryptedEngine.Configuration(settings: EncryptionSettings(hidesNames: seed % 2 == 0))
  configuration.rollbackProtection = RollbackProtection(
    anchor: FileAnchor(URL(fileURLWithPath: anchor)), interval: .milliseconds(1), timeout: .seconds(60))
  say("ready")
  _ = readLine()
  var number = seed
  while true {
    let base = try await openStore(path, kind)
    let engine = try await EncryptedEngine.open(base, configuration: configuration) { _ in root }
    for _ in 0..<20 {
      number += 1
      let durability: StoreDurability = number % 5 == 0 ? .full : .relaxed
      var batch = WriteBatch([.put(try KeyName("key/\(number % 7)"), Data("\(number)".utf8))], durability: durability)
      if number % 13 == 0 { batch.delete(try KeyName("key/\(number % 5)")) }
      if number % 17 == 0 { batch.clear(prefix: number % 2 == 0 ? "key/" : nil) }
      try await engine.commit(batch, from: StoreOrigin())
      if number % 11 == 0 { try await engine.flush() }
      if number % 37 == 0 {
        // Another process may rotate at the same time.
        do { _ = try await engine.rotate().result() } catch let error as StorageError where error.code == .busy {}
      }
    }
    try await engine.close()
    say("round")
  }
}
