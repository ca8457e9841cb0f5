/// The keys that a commit changed: single keys, whole prefixes, or everything.
public struct Selection: Hashable, Sendable {
  /// Keys that were put or deleted, in the order of the batch.
  public let keys: [Key]
  /// Prefixes that were cleared.
  public let prefixes: [Key]
  /// Whether the whole store was cleared; then the lists are empty, since everything may have changed.
  public let isEverything: Bool

  /// Nothing.
  public static let none = Selection(keys: [], prefixes: [])
  /// The whole store.
  public static let everything = Selection(everything: ())

  /// Single keys and prefixes.
  public init(keys: [Key], prefixes: [Key] = []) {
    self.keys = keys
    self.prefixes = prefixes
    isEverything = false
  }

  private init(everything: Void) {
    keys = []
    prefixes = []
    isEverything = true
  }

  /// Whether nothing was changed.
  public var isEmpty: Bool { !isEverything && keys.isEmpty && prefixes.isEmpty }

  /// Whether the value of `key` may have changed. Linear in the size of the selection.
  public func contains(_ key: Key) -> Bool {
    isEverything || keys.contains(key) || prefixes.contains { key.hasPrefix($0) }
  }
}
