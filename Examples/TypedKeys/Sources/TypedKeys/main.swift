import CofferRouter

enum Theme: String, Codable { case system, dark, light }

extension StorageKey where Self == SettingKey<Theme> {
  static var theme: Self {
    SettingKey(
      "theme", in: .memory("settings"), owner: "Settings", about: "The colours of the window.",
      default: .system)
  }
}

extension StorageKey where Self == SettingKey<Int> {
  static var visits: Self {
    SettingKey(
      "visits", in: .memory("settings"), owner: "Statistics", about: "How often the app was opened.",
      default: 0)
  }
}

extension StorageKeys {
  static let drafts = KeyFamily<Int, String>(
    "drafts", in: .memory("drafts"), owner: "Editor", about: "Unsent messages.")
}

struct ShopCatalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey] = [.key(.theme), .key(.visits), .family(StorageKeys.drafts)]
}

let router = StorageRouter.shared
try await router.registerCatalog(ShopCatalog())
let changes = try await router.changes(of: .theme)

try await router.set(.dark, for: .theme)
try await router.update(.visits) { $0 += 1 }
try await router.set("Dear Ann", for: StorageKeys.drafts[7])
print("There is a draft for each of \(try await router.ids(of: StorageKeys.drafts)).")
print("The theme is \(try await router.get(.theme)), after \(try await router.get(.visits)) visit.")

for await change in changes {
  print("The theme was changed: \(change)")
  break
}
for entry in await router.auditReport().entries {
  print("\(entry.key.name), of \(entry.key.owner): \(entry.key.description) \(entry.state)")
}
