import Coffer
import Foundation

enum Theme: String, Codable, Sendable { case system, dark, light }

extension StorageKey where Self == TypedKey<Theme> {
  static var theme: Self {
    TypedKey("theme", in: .userDefaults(), owner: "Settings", about: "The colours of the window.", default: .system)
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

extension StorageKey where Self == TypedKey<Int> {
  static var visits: Self {
    TypedKey("visits", in: .database(), owner: "Statistics", about: "How often the shop was opened.", default: 0)
  }
}

extension StorageKeys {
  static let recent = TypedKey<[String]>(
    "recent", in: .fileSystem(.documents), owner: "Search", about: "What was searched for.", default: [],
    as: .propertyList)
}

struct ShopCatalog: StorageKeyCatalog {
  var name = "Shop"
  var allKeys: [AnyStorageKey] = [.key(.theme), .key(.name), .key(.token), .key(.visits), .key(StorageKeys.recent)]
}

/// Returns a key for a test, by default in memory.
func plain<Value: Codable & Sendable>(
  _ name: String, _ type: Value.Type, in domain: StorageDomain = .memory(), default value: Value? = nil,
  about: String = "For a test.", owner: String = "Tests", availability: PlatformAvailability = .all,
  sync: SyncPolicy = .never, security: SecurityPolicy? = nil
) -> TypedKey<Value> {
  TypedKey(
    name, in: domain, owner: owner, about: about, default: value, security: security, availability: availability,
    sync: sync)
}

/// Returns a key of an integer for a test, by default in memory.
func plain(
  _ name: String, in domain: StorageDomain = .memory(), default value: Int? = nil, about: String = "For a test.",
  owner: String = "Tests", availability: PlatformAvailability = .all, sync: SyncPolicy = .never,
  security: SecurityPolicy? = nil
) -> TypedKey<Int> {
  plain(
    name, Int.self, in: domain, default: value, about: about, owner: owner, availability: availability, sync: sync,
    security: security)
}
