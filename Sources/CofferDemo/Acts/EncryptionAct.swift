import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// Searches the stolen copy of an encrypted store, then gives the store a new key, and erases it.
func encryptionAct(_ stage: Stage) async throws {
  let key = stage.folder.appendingPathComponent("shop.key")
  try Data((0..<32).map { _ in UInt8.random(in: 0...255) }).write(to: key)
  chmod(key.path, 0o600)
  let customers = try (0..<500).map { _ in try KeyName("orders/customer-\(UUID().uuidString)") }
  try Data(customers.map { $0.string.dropFirst(7) }.joined(separator: "\n").utf8)
    .write(to: stage.folder.appendingPathComponent("words"))

  var settings = EncryptionSettings()
  (settings.hidesNames, settings.padsValues) = (true, true)
  let encrypted = try await EncryptedEngine.open(
    SQLiteEngine.open(at: stage.path("secret.db")), key: .file(key),
    configuration: EncryptedEngine.Configuration(settings: settings))
  try await closing(encrypted) { encrypted in
    let orders = WriteBatch(customers.map { .put($0, Data($0.string.utf8)) })
    try await encrypted.commit(orders, from: StoreOrigin())
    try await closing(try await SQLiteEngine.open(at: stage.path("open.db"))) {
      try await $0.commit(orders, from: StoreOrigin())
    }
    for (name, count) in [("open", customers.count), ("secret", 0)] {
      let found = try shell("cat \(name).db* | grep -aohF -f words | sort -u | wc -l", in: stage.folder)
      try stage.check(Int(found) == count, Int(found) ?? -1, "of 500 customers found in \(name).db by a thief")
    }
    func readable() async throws -> Int { try await encrypted.entries(customers).compactMap(\.self).count }
    let rotation = try await encrypted.rotate().result()
    let rotated = try await readable()
    let isRotated = rotation.removedKeys.count == 1 && rotated == customers.count
    try stage.check(isRotated, rotated, "orders read under a new key, without the old one")
    let report = try await encrypted.shred()
    let rest = try await readable()
    try stage.check(report.isComplete && rest == 0, rest, "orders read after they were shredded, with the right key")
  }
}
