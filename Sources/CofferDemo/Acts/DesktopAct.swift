import Coffer
import CofferEncryption
import CofferSecrets
import Foundation

/// Shares preferences with Foundation's `UserDefaults`, and stores a secret on a machine without a desktop.
func desktopAct(_ stage: Stage) async throws {
  let suite = "com.example.coffer-demo"
  let adapter = try await UserDefaultsAdapter.open(suiteName: suite)
  try await closing(adapter.engine) { engine in
    try await adapter.set("dark", for: "theme")
    try await adapter.set(30, for: "syncMinutes")
    var changes = engine.changes(since: nil).makeAsyncIterator()
    let child = try Child(.defaults, suite)
    let read = child.line()
    try stage.check(read == "dark, 30", 2, "preferences read by UserDefaults in another process")
    var isReceived = false
    if case .commit(let commit)? = await changes.next() { isReceived = commit.changed.contains("theme") }
    let theme = try await adapter.get("theme")
    try stage.check(isReceived && theme == "light", isReceived ? 1 : 0, "change by UserDefaults received")
  }

  let file = stage.folder.appendingPathComponent("shop.sealed")
  func passphrase(_ text: String) -> PassphraseSource { .provided { Data(text.utf8) } }
  let chain = SecretChain(
    .keychain(service: "com.example.coffer-demo"), .sealed(file, passphrase: passphrase("correct horse")))
  try stage.say("The keyring of the desktop, or else a sealed file: \(try await chain.choose().reason)")
  let secrets = try await KeychainAdapter.open(chain)
  let secret = "hunter2-\(UInt64.random(in: .min ... .max))"
  try await secrets.set(Data(secret.utf8), for: "token")
  try await secrets.engine.close()
  let found = try shell("grep -rl '\(secret)' . | wc -l", in: stage.folder)
  try stage.check(found == "0", Int(found) ?? -1, "files that contain the secret in clear text")
  var refusal: StorageError.Code?
  do {
    try await SlotEngine.sealed(at: file, passphrase: passphrase("battery staple")).close()
  } catch let error as StorageError {
    refusal = error.code
  }
  try stage.check(refusal == .wrongPassphrase, 1, "wrong passphrase, refused: no empty store")
}
