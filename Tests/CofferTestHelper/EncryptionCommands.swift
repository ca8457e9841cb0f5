import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSecrets
import Foundation

/// Runs a command on the key ring of a database, or on the material of a keyring's item; returns whether it is one.
func runOnKeys(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "ring-create":
    say("begin")
    let open = try await openRing(store, key: rest[0])
    say("ack \(fingerprint(open.ring))")
  case "ring-reseal":
    // Changes the root key to the second one and back, until it is killed.
    var open = try await openRing(store, key: rest[0])
    let store = try KeyRingStore(try await SQLiteEngine.open(at: store))
    for number in 0... {
      say("begin \(number)")
      open = try await store.reseal(open, with: .file(rest[(number + 1) % 2]))
      say("ack \(number)")
    }
  case "keyring-material":
    var configuration = KeychainConfiguration()
    configuration.timeout = .seconds(10)
    configuration.store.busyTimeout = 60_000
    let provider = KeychainKeyProvider(service: store, configuration: configuration)
    let source = KeyMaterialSource(id: rest[0])
    let material = try await provider.createKeyMaterial(for: source)
    guard try await provider.keyMaterial(for: source) == material else { throw Usage() }
    say("ack \(sha256(material).map { String($0, radix: 16) }.joined())")
  default: return false
  }
  return true
}

private func openRing(_ path: String, key: String) async throws -> OpenKeyRing {
  let engine = try await SQLiteEngine.open(at: path)
  return try await KeyRingStore(engine).open(with: .file(key), settings: EncryptionSettings())
}

private func fingerprint(_ ring: KeyRing) -> String { "\(ring.primary.id.bytes.base64EncodedString())" }
