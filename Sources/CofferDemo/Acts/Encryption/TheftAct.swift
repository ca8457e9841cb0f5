import Coffer
import Foundation

/// Copies an encrypted store while it is in use, as a thief would, and searches the copy.
func theftAct(_ stage: Stage) async throws {
  let vault = try stage.vault()
  let console = stage.console
  let plain = try await SQLiteEngine.open(at: vault.plain)
  let encrypted = try await Vault.open(vault.encrypted, key: vault.key)
  for engine in [plain, encrypted] as [any StorageEngine] {
    for order in vault.orders {
      let batch = WriteBatch([.put(order.key, order.value)], durability: .relaxed)
      try await engine.commit(batch, from: StoreOrigin())
    }
  }
  console.line("   \(counted(vault.orders.count, "order")) are saved in a plain database, and in an encrypted one")
  console.line("   with hidden names and sizes. Both are stolen while they are open.")
  _ = try shell("cp -r plain stolen/plain && cp -r encrypted stolen/encrypted", in: vault.folder)

  let words = vault.orders.count * 2
  let inPlain = try vault.found(in: "stolen/plain", console)
  stage.check(inPlain == words, "customers and cards found in the plain copy", count: inPlain)
  let inEncrypted = try vault.found(in: "stolen/encrypted", console)
  stage.check(inEncrypted == 0, "of them found in the encrypted copy", count: inEncrypted)

  let copy = vault.folder.appendingPathComponent("stolen/encrypted/shop.db").path
  var refusal: StorageError.Code?
  do {
    try await Vault.open(copy, key: vault.otherKey).close()
  } catch let error as StorageError {
    refusal = error.code
    console.sentence("\"\(error.message)\"")
  }
  stage.check(refusal == .wrongPassphrase, "another key is refused, also by the copy", count: 1)
  let readable = try await vault.readable(in: encrypted)
  stage.check(readable == vault.orders.count, "orders that the owner reads", count: readable)
  stage.summary.wordsFoundInPlain = inPlain
  stage.summary.wordsFoundEncrypted = inEncrypted
  try await plain.close()
  try await encrypted.close()
}
