import Coffer
import CofferEncryption
import CofferSecrets
import Foundation

/// Stores a secret under a passphrase on a machine without a desktop.
func secretsAct(_ stage: Stage) async throws {
  let console = stage.console
  let file = stage.desktop.appendingPathComponent("shop.sealed")
  let chain = SecretChain(
    .keychain(service: "com.example.coffer-demo"), .sealed(file, passphrase: passphrase("correct horse")))
  console.line("   The program prefers the desktop's keyring to a sealed file:")
  let choice = try await chain.choose()
  console.sentence("\"Store \(choice.index + 1) is selected: \(choice.reason)\"")
  stage.check(choice.index == 1, "store of secrets selected, with a reason", count: 1)

  let secret = "hunter2-\(UInt64.random(in: .min ... .max))"
  let secrets = try await KeychainAdapter.open(chain)
  for number in 0..<10 { try await secrets.set(Data("\(secret)-\(number)".utf8), for: "token-\(number)") }
  try await secrets.engine.close()
  let search = #"grep -rl "$f" . | wc -l"#
  let found = try shell(search, in: stage.desktop, file: secret).trimmingCharacters(in: .whitespacesAndNewlines)
  console.line("   Files below the store's directory that contain the text of a secret: \(found)")
  stage.check(found == "0", "files that contain a secret in clear text", count: Int(found) ?? -1)

  var refusal: StorageError.Code?
  do {
    try await SlotEngine.sealed(at: file, passphrase: passphrase("battery staple")).close()
  } catch let error as StorageError {
    refusal = error.code
    console.sentence("\"\(error.message)\"")
  }
  stage.check(refusal == .wrongPassphrase, "wrong passphrase refused: no empty store", count: 1)

  let engine = try await SlotEngine.sealed(at: file, passphrase: passphrase("correct horse"))
  try await engine.changePassphrase(to: passphrase("battery staple"))
  try await engine.close()
  let again = try await SlotEngine.sealed(at: file, passphrase: passphrase("battery staple"))
  var readable = 0
  for number in 0..<10 {
    let value = try await again.entry(KeyName("token-\(number)"))?.value
    if value == Data("\(secret)-\(number)".utf8) { readable += 1 }
  }
  try await again.close()
  stage.check(readable == 10, "secrets read under a new passphrase", count: readable)
}

private func passphrase(_ text: String) -> PassphraseSource { .provided { Data(text.utf8) } }
