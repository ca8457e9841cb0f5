import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation

/// Runs a command on an encrypted store; returns whether it is one. STORE is a directory.
func runOnEncryptedStores(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "encrypted-fill": try await fillEncrypted(path, rest[0], isPlain: rest[1] == "plain", seed: UInt64(rest[2]) ?? 0)
  case "encrypted-write": try await writeEncrypted(path, name: rest[0], count: Int(rest[1]) ?? 0)
  case "encrypted-follow": try await followEncrypted(path, count: Int(rest[0]) ?? 0)
  case "encrypted-rotate": try await rotateRing(path, count: Int(rest[0]) ?? 0)
  case "encrypted-dump": try await dumpEncrypted(path, rest[0], kind: rest[1], state: rest[2], into: rest[3])
  default: return false
  }
  return true
}

private func openEncrypted(_ path: String, _ kind: String = "sqlite") async throws -> EncryptedEngine {
  let configuration = EncryptedEngine.Configuration(settings: EncryptionSettings(hidesNames: true, padsValues: true))
  return try await EncryptedEngine.open(try await openStore(path, kind), configuration: configuration) { _ in
    try testRoot()
  }
}

/// Stores a sample and waits to be killed.
private func fillEncrypted(_ path: String, _ kind: String, isPlain: Bool, seed: UInt64) async throws {
  let engine: any StorageEngine = isPlain ? try await openStore(path, kind) : try await openEncrypted(path, kind)
  try await SecretSample(count: 1_000, seed: seed).fill(engine)
  say("filled")
  _ = readLine()
}

/// Commits numbered values, each of which also removes the one before.
private func writeEncrypted(_ path: String, name: String, count: Int) async throws {
  let engine = try await openEncrypted(path)
  say("ready")
  _ = readLine()
  for number in 0..<count {
    let key = try KeyName("\(name)/\(number)")
    try await engine.commit(WriteBatch([.put(key, Data("\(number)".utf8))], durability: .relaxed), from: StoreOrigin())
  }
  say("done")
  try await engine.close()
}

/// Prints the names of the keys and prefixes of the next commits.
private func followEncrypted(_ path: String, count: Int) async throws {
  let engine = try await openEncrypted(path)
  let changes = engine.changes(since: nil)
  say("ready")
  var number = 0
  for await change in changes {
    guard case .commit(let commit) = change else {
      say("reload")
      break
    }
    let keys = commit.changed.keys.map(\.string) + commit.changed.prefixes.map { $0.string + "*" }
    say(commit.changed.isEverything ? "everything" : keys.joined(separator: " "))
    number += 1
    if number == count { break }
  }
  try await engine.close()
}

/// Replaces the primary key again and again.
private func rotateRing(_ path: String, count: Int) async throws {
  let base = try await SQLiteEngine.open(at: path + "/store.db")
  let ring = try KeyRingStore(base)
  var open = try await ring.open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try testRoot() }
  say("ready")
  _ = readLine()
  for _ in 0..<count { open = try await ring.update(open) { try $0.addPrimary(now: Date()) } }
  say("done")
  try await base.close()
}

#if os(Linux)
  /// Dumps core after a store was read, listed, rotated and opened again, and is open or closed. Prints a marker
  /// of ordinary memory before.
  private func dumpEncrypted(_ path: String, _ file: String, kind: String, state: String, into folder: String)
    async throws
  {
    let words = URL(fileURLWithPath: file)
    let source: RootKeySource =
      kind == "passphrase" ? .passphrase(.file(words), cost: ScryptCost(logN: 10, r: 2, p: 1)) : .file(words)
    var engine = try await EncryptedEngine.open(try await openStore(path, "sqlite"), key: source)
    _ = try await engine.rotate().result()
    try await engine.close()
    engine = try await EncryptedEngine.open(try await openStore(path, "sqlite"), key: source)
    var count = 0
    for summary in try await engine.summaries() { count += try await engine.entry(summary.key)?.value.count ?? 0 }
    guard count > 0 else { throw Usage() }
    if state == "closed" { try await engine.close() }
    try await dumpCore(into: folder, keeping: engine)
  }
#else
  private func dumpEncrypted(_ path: String, _ file: String, kind: String, state: String, into folder: String)
    async throws
  {
    throw Usage()
  }
#endif
