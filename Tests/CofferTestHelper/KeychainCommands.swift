import CofferCore
import CofferEncryption
import CofferFiles
import CofferSecrets
import CofferTestSupport
import Foundation

/// Runs a command on a keyring, given by its service, or on a sealed file, given by its path; returns whether it is
/// one. The bus and the directories are those of the environment.
func runOnSecrets(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "sealed-create": try await createSealed(store, rest[0])
  case "keychain-try": try await tryKeychain(store, sealed: rest[0])
  case "keyring-secret": useKeyring(store)
  case "sealed-dump": try await dump(store, passphraseFile: rest[0], into: rest[1])
  default: return false
  }
  return true
}

func openKeychain(_ service: String, _ store: SlotEngine.Configuration) async throws -> SlotEngine {
  var configuration = KeychainConfiguration()
  configuration.store = store
  configuration.store.busyTimeout = 60_000  // Commits to a keyring are slow, and six handles wait in turn.
  configuration.timeout = .seconds(10)
  return try await SlotEngine.keychain(service: service, configuration: configuration)
}

func openSealed(
  _ path: String, _ configuration: SlotEngine.Configuration = .patient, _ passphrase: String = "correct horse"
) async throws -> SlotEngine {
  try await SlotEngine.sealed(
    at: URL(fileURLWithPath: path), passphrase: .provided { Data(passphrase.utf8) }, configuration: configuration,
    cost: ScryptCost(logN: 10, r: 1, p: 1))
}

/// Prints the outcome of using the keyring where it is unavailable.
private func tryKeychain(_ service: String, sealed file: String) async throws {
  say(KeyringInspection.obstacle().map { "\($0)" } ?? "open")
  let engine = try await openKeychain(service, SlotEngine.Configuration())
  do {
    try await engine.commit(WriteBatch([.put(KeyName("token"), Data("secret".utf8))]), from: StoreOrigin())
    say("written")
  } catch let error as StorageError {
    say("\(error.code)")
  }
  try await engine.close()
  let chain = SecretChain(
    .keychain(service: service),
    .sealed(URL(fileURLWithPath: file), passphrase: .provided { Data("correct horse".utf8) }))
  let choice = try await chain.choose()
  say("store \(choice.index): \(choice.reason)")
}

/// Prints the state of the keyring, and what reading the secret of an item leads to.
private func useKeyring(_ path: String) {
  say(KeyringInspection.obstacle().map { "\($0)" } ?? "open")
  #if SecretService && os(Linux)
    do {
      let secrets = try SecretServiceClient().secrets([KeyringItemPath(path)].compactMap { $0 })
      say("\(secrets.count) secrets")
    } catch {
      say("\(error)")
    }
  #endif
}

/// Dumps core with a sealed store open, after printing a marker that is in its ordinary memory.
private func dump(_ path: String, passphraseFile: String, into folder: String) async throws {
  let engine = try await SlotEngine.sealed(
    at: URL(fileURLWithPath: path), passphrase: .file(URL(fileURLWithPath: passphraseFile)),
    cost: ScryptCost(logN: 10, r: 1, p: 1))
  _ = try await engine.recoveryReport()
  _ = try await engine.entry(KeyName("token"))
  try await dumpCore(into: folder, keeping: engine)
}

/// Creates a sealed file concurrently with other processes, when a line arrives.
private func createSealed(_ path: String, _ passphrase: String) async throws {
  say("ready")
  _ = readLine()
  let engine = try await openSealed(path, .patient, passphrase)
  try await engine.commit(WriteBatch([.put(KeyName("by \(getpid())"), Data(passphrase.utf8))]), from: StoreOrigin())
  say("ack")
  try await engine.close()
}
