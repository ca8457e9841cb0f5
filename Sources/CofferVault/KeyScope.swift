/// The subset of an engine's keys that one service sees: the keys with its prefix, which the service's names omit.
package struct KeyScope: Hashable, Sendable {
  private let prefix: String

  init(prefix: String) { self.prefix = prefix }

  /// Returns the engine's key for a name of the service.
  /// - Throws: `invalidKey` for an empty name, and for one that is too long with the prefix.
  func key(_ name: String) throws -> KeyName {
    guard !name.isEmpty else { return try KeyName(name) }
    return try KeyName(prefix + name)
  }

  /// The prefix that covers all keys of the service, or `nil` for all keys of the engine.
  var whole: KeyName? {
    get throws { prefix.isEmpty ? nil : try KeyName(prefix) }
  }

  /// Returns the service's name for an engine key, or `nil` if the key is outside the scope.
  func name(of key: KeyName) -> String? {
    let bytes = key.string.utf8
    guard bytes.starts(with: prefix.utf8), bytes.count > prefix.utf8.count else { return nil }
    return String(Substring(bytes.dropFirst(prefix.utf8.count)))
  }

  /// Returns whether the range of keys with a prefix can contain keys of the service.
  func overlaps(_ other: KeyName) -> Bool {
    other.string.utf8.starts(with: prefix.utf8) || prefix.utf8.starts(with: other.string.utf8)
  }
}
