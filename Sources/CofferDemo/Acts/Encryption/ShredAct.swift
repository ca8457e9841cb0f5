import Coffer
import CofferEncryption
import Foundation

/// Erases all orders by destroying their keys, and tries to read them with the right key.
func shredAct(_ stage: Stage) async throws {
  let vault = try stage.vault()
  let engine = try await Vault.open(vault.encrypted, key: vault.key)
  let before = try await vault.readable(in: engine)
  stage.check(before == vault.orders.count, "orders read before", count: before)
  let envelopes = try await engine.base.withSnapshot { snapshot in
    try await snapshot.page(prefix: nil, after: nil, limit: 100).map(\.value)
  }
  let report = try await engine.shred()
  stage.console.line("   \(counted(report.values, "value")) and \(counted(report.destroyedKeys.count, "key")) erased.")
  stage.check(report.isComplete, "erased from the log and free pages, too", count: 1)
  try await engine.close()

  let again = try await Vault.open(vault.encrypted, key: vault.key)
  try await closing(again) { again in
    let readable = try await vault.readable(in: again)
    stage.check(readable == 0, "orders read afterwards, with the right key", count: readable)
    let found = try remains(of: envelopes, in: vault.folder.appendingPathComponent("encrypted"))
    stage.check(found == 0, "of 100 encrypted values still in the files", count: found)
    stage.summary.readAfterShredding = readable
  }
}

/// Returns how many of the values are in the files of a folder.
private func remains(of values: [Data], in folder: URL) throws -> Int {
  let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
  let files = try names.map { try Data(contentsOf: folder.appendingPathComponent($0)) }
  return values.filter { value in files.contains { $0.range(of: value) != nil } }.count
}
