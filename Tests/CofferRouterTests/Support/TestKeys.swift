import CofferRouter
import Foundation

enum Theme: String, Codable, Sendable { case system, dark, light }

extension StorageKey where Self == SettingKey<Theme> {
  static var theme: Self {
    SettingKey("theme", in: .userDefaults(), owner: "Settings", about: "The colours of the window.", default: .system)
  }
}

extension StorageKey where Self == TypedKey<String> {
  static var name: Self {
    TypedKey("name", in: .database(), owner: "Account", about: "What the shop calls the customer.")
  }
  static var token: Self {
    TypedKey(secret: "token", in: .keychain(), owner: "Account", about: "The session at the shop.")
  }
}

extension StorageKey where Self == SettingKey<Int> {
  static var visits: Self {
    SettingKey("visits", in: .database(), owner: "Statistics", about: "How often the shop was opened.", default: 0)
  }
}

extension StorageKeys {
  static let recent = SettingKey<[String]>(
    "recent", in: .fileSystem(.documents), owner: "Search", about: "What was searched for.", default: [],
    as: .propertyList)
}

struct ShopCatalog: StorageKeyCatalog {
  var name = "Shop"
  var allKeys: [AnyStorageKey] = [.key(.theme), .key(.name), .key(.token), .key(.visits), .key(StorageKeys.recent)]
}

/// Returns a key for a test, by default in memory.
func plain<Value: Codable & Sendable>(
  _ name: String, _ type: Value.Type, in domain: StorageDomain = .memory(), about: String = "For a test.",
  owner: String = "Tests", availability: PlatformAvailability = .all, sync: SyncPolicy = .never,
  security: SecurityPolicy? = nil
) -> TypedKey<Value> {
  TypedKey(
    name, in: domain, owner: owner, about: about, security: security, availability: availability, sync: sync)
}

/// Returns a key of an integer for a test, by default in memory.
func plain(
  _ name: String, in domain: StorageDomain = .memory(), about: String = "For a test.", owner: String = "Tests",
  availability: PlatformAvailability = .all, sync: SyncPolicy = .never, security: SecurityPolicy? = nil
) -> TypedKey<Int> {
  plain(
    name, Int.self, in: domain, about: about, owner: owner, availability: availability, sync: sync, security: security)
}

/// Returns a key with a default for a test, by default in memory.
func plain<Value: Codable & Sendable>(
  _ name: String, in domain: StorageDomain = .memory(), default value: Value, about: String = "For a test.",
  owner: String = "Tests", sync: SyncPolicy = .never, security: SecurityPolicy? = nil
) -> SettingKey<Value> {
  SettingKey(name, in: domain, owner: owner, about: about, default: value, security: security, sync: sync)
}
