import CofferCore
import CofferCrypto
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSlots
import CofferTestSupport
import Foundation

/// Runs a command on an encrypted store; returns whether it is one. STORE is a directory.
func runOnEncryptedStores(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "encrypted-fill": try await fillEncrypted(path, rest[0], isPlain: rest[1] == "plain", seed: UInt64(rest[2]) ?? 0)
  case "encrypted-write": try await writeEncrypted(path, name: rest[0], count: Int(rest[1]) ?? 0)
  case "encrypted-follow": try await followEncrypted(path, count: Int(rest[0]) ?? 0)
  case "encrypted-rotate": try await rotateRing(path, count: Int(rest[0]) ?? 0)
  default: return false
  }
  return true
}

private func open(_ path: String, _ kind: String) async throws -> any StorageEngine {
  kind == "file"
    ? try await SlotEngine.files(in: URL(fileURLWithPath: path)) : try await SQLiteEngine.open(at: path + "/store.db")
}

private func root() throws -> RootKey {
  try RootKey(
    from: SecretBytes(copying: sha256(Data("root".utf8))),
    RootKeyDerivation(.keyMaterial, salt: Data(repeating: 0, count: RootKeyDerivation.saltCount)))
}

private func openEncrypted(_ path: String, _ kind: String = "sqlite") async throws -> EncryptedEngine {
  let configuration = EncryptionConfiguration(settings: EncryptionSettings(hidesNames: true, padsValues: true))
  return try await EncryptedEngine.open(try await open(path, kind), configuration: configuration) { _ in try root() }
}

/// Stores a sample and waits to be killed.
private func fillEncrypted(_ path: String, _ kind: String, isPlain: Bool, seed: UInt64) async throws {
  let engine: any StorageEngine = isPlain ? try await open(path, kind) : try await openEncrypted(path, kind)
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
    let key = try StoreKey("\(name)/\(number)")
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
  var open = try await ring.open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try root() }
  say("ready")
  _ = readLine()
  for _ in 0..<count { open = try await ring.update(open) { try $0.addPrimary(now: Date()) } }
  say("done")
  try await base.close()
}
