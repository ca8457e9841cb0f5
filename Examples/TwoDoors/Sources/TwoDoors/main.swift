import CofferPersistence
// One store, two APIs: a typed value is saved through the first; its change and its bytes are read through the second.
import CofferVault
import Foundation

struct Theme: Codable, Equatable {
  var name: String
  var isDark: Bool
}

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("two-doors-\(UUID().uuidString)")
let engine = try await SQLiteEngine.open(at: folder.appendingPathComponent("store.db").path)
let persistence: any PersistenceCapability = AdapterBasedPersistence(engine: engine)
let vault: any SwiftVaultService = SwiftVault.service(over: engine)
let changes = vault.externalChanges

let theme = Theme(name: "Night", isDark: true)
try await persistence.save(theme, for: "theme")
let change = await changes.first { _ in true }
print("The vault reported '\(change?.key ?? "")' changed in transaction \(change?.transactionID?.uuidString ?? "").")

let bytes = try await vault.loadData(forKey: "theme") ?? Data()
print("The stored bytes are \(String(decoding: bytes, as: UTF8.self)).")
let isSame = try JSONDecoder().decode(Theme.self, from: bytes) == theme
try await engine.close()
try FileManager.default.removeItem(at: folder)
exit(isSame && change?.key == "theme" ? 0 : 1)
