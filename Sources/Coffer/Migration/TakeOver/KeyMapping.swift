import CofferCore

/// The keys under which values are stored that another library has named.
///
/// ```swift
/// let mapping = try KeyMapping([("theme", "settings/theme"), ("cache.*", "cache/*")])
/// ```
public struct KeyMapping: Sendable {
  private struct Rule {
    let old, new: [UInt8]
    let star: Int?
    let newStar: Int?

    func matches(_ name: [UInt8]) -> Bool {
      guard let star else { return name == old }
      let (head, tail) = (old[..<star], old[(star + 1)...])
      return name.count >= head.count + tail.count && name.starts(with: head) && name.suffix(tail.count) == tail
    }
  }

  /// A rule that matches no name of a source.
  struct Unmatched: Sendable {
    /// The old name or pattern.
    let name: String
    /// What the keys of its values begin with; the key itself for a rule without pattern.
    let key: String
    let isPattern: Bool
  }

  /// The mapping that keeps every name.
  public static let unchanged = KeyMapping()

  private var rules: [Rule] = []
  private var takesOthers = true
  private var convertsSnakeCase = false

  private init() {}

  /// Creates a mapping.
  /// - Parameters:
  ///   - rules: pairs of an old name and a key. One `*` in the old name stands for any text, which replaces the `*` in
  ///     the key. A name without `*` has precedence over patterns, then the first rule that matches is used.
  ///   - takesOthers: whether a value that matches no rule is taken under its old name, or skipped.
  ///   - convertsSnakeCase: whether such a name is taken without its underscores: `user_name` as `userName`. Those at
  ///     the beginning and the end stay.
  /// - Throws: `StorageError` with the code `invalidKey` for an empty name or key, a second `*`, a `*` in the key
  ///   alone, or a name that is given twice.
  public init(_ rules: [(old: String, new: String)], takesOthers: Bool = true, convertsSnakeCase: Bool = false)
    throws
  {
    self.takesOthers = takesOthers
    self.convertsSnakeCase = convertsSnakeCase
    let star = UInt8(ascii: "*")
    var names: Set<[UInt8]> = []
    guard rules.allSatisfy({ names.insert(Array($0.old.utf8)).inserted }) else {
      throw StorageError(
        .invalidKey, "A mapping of names has an old name twice.",
        advice: "Give each old name one key. Nothing was changed.")
    }
    self.rules = try rules.map { old, new in
      let (old, new) = (Array(old.utf8), Array(new.utf8))
      let counts = (old.count { $0 == star }, new.count { $0 == star })
      guard !old.isEmpty, !new.isEmpty, counts.0 <= 1, counts.1 <= counts.0 else {
        throw StorageError(
          .invalidKey, "A mapping of names needs an old name and a key, each with at most one *.",
          advice: "A * in the key needs one in the old name. Nothing was changed.")
      }
      return Rule(old: old, new: new, star: old.firstIndex(of: star), newStar: new.firstIndex(of: star))
    }
  }

  /// Returns the key for an old name, or `nil` if the value is not taken.
  /// - Throws: `StorageError` with the code `invalidKey` if the result is no key.
  func key(for name: String) throws -> StoreKey? {
    let bytes = Array(name.utf8)
    if let rule = rules.first(where: { $0.star == nil && $0.old == bytes }) { return try Self.key(rule.new) }
    for rule in rules {
      guard let star = rule.star, rule.matches(bytes) else { continue }
      guard let newStar = rule.newStar else { return try Self.key(rule.new) }
      let middle = bytes[star..<(bytes.count - (rule.old.count - star - 1))]
      return try Self.key(rule.new[..<newStar] + middle + rule.new[(newStar + 1)...])
    }
    guard takesOthers else { return nil }
    return try convertsSnakeCase ? Self.key(Self.camelCase(bytes)) : StoreKey(name)
  }

  /// Returns the rules that match none of the names, whether or not another rule has precedence.
  func unmatched(by names: some Sequence<String>) -> [Unmatched] {
    var exact: [[UInt8]: Int] = [:]
    var patterns: [Int] = []
    for (index, rule) in rules.enumerated() {
      if rule.star == nil { exact[rule.old] = index } else { patterns.append(index) }
    }
    for name in names where !exact.isEmpty || !patterns.isEmpty {
      let bytes = Array(name.utf8)
      exact[bytes] = nil
      patterns.removeAll { rules[$0].matches(bytes) }
    }
    return (exact.values + patterns).sorted().map { index in
      let rule = rules[index]
      return Unmatched(
        name: String(decoding: rule.old, as: UTF8.self),
        key: String(decoding: rule.new[..<(rule.newStar ?? rule.new.count)], as: UTF8.self),
        isPattern: rule.newStar != nil)
    }
  }

  /// Returns a name in which each letter after underscores is in upper case, without these.
  private static func camelCase(_ name: [UInt8]) -> [UInt8] {
    let underscore = UInt8(ascii: "_")
    guard let first = name.firstIndex(where: { $0 != underscore }),
      let last = name.lastIndex(where: { $0 != underscore })
    else { return name }
    var converted = Array(name[..<first])
    var isAfter = false
    for byte in name[first...last] {
      guard byte != underscore else {
        isAfter = true
        continue
      }
      let isLower = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      converted.append(isAfter && isLower ? byte - 32 : byte)
      isAfter = false
    }
    return converted + name[(last + 1)...]
  }

  private static func key(_ bytes: some Collection<UInt8>) throws -> StoreKey {
    try StoreKey(String(decoding: bytes, as: UTF8.self))
  }
}
