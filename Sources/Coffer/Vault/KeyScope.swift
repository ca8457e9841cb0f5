/// The part of an engine's keys that one service sees: those that begin with its prefix, without it.
struct KeyScope: Hashable, Sendable {
  private let prefix: String

  init(prefix: String) { self.prefix = prefix }

  /// - Throws: `invalidKey` for an empty name, and for one that is too long with the prefix.
  func key(_ name: String) throws -> StoreKey {
    guard !name.isEmpty else { return try StoreKey(name) }
    return try StoreKey(prefix + name)
  }

  /// What covers all keys: `nil` for every key of the engine.
  var whole: StoreKey? {
    get throws { prefix.isEmpty ? nil : try StoreKey(prefix) }
  }

  /// What the service calls a key; `nil` for one of others.
  func name(of key: StoreKey) -> String? {
    let bytes = key.string.utf8
    guard bytes.starts(with: prefix.utf8), bytes.count > prefix.utf8.count else { return nil }
    return String(Substring(bytes.dropFirst(prefix.utf8.count)))
  }

  /// Whether a range of keys with this beginning has any of the service's.
  func overlaps(_ other: StoreKey) -> Bool {
    other.string.utf8.starts(with: prefix.utf8) || prefix.utf8.starts(with: other.string.utf8)
  }
}
