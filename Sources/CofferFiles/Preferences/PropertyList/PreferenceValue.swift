public import Foundation

/// A property list value, as `UserDefaults` stores it.
///
/// ```swift
/// try await adapter.set("dark", for: "theme")            // UserDefaults(suiteName:)?.string(forKey: "theme")
/// try await adapter.set(.date(Date()), for: "lastSync")  // keeps the fraction of the second
/// ```
public enum PreferenceValue: Hashable, Sendable {
  /// A string (`<string>`).
  case string(String)
  /// An integer (`<integer>`).
  case integer(Int64)
  /// An integer that is too large for ``integer(_:)``.
  case unsigned(UInt64)
  /// A floating-point number (`<real>`).
  case real(Double)
  /// A Boolean value (`<true/>` or `<false/>`).
  case boolean(Bool)
  /// A date, with the full precision of `Date`.
  case date(Date)
  /// Raw bytes (`<data>`).
  case data(Data)
  /// An array of values, which may differ in type.
  case array([PreferenceValue])
  /// A dictionary: its entries with unique names, sorted by name.
  case dictionary([PreferenceValue.Entry])

  /// Creates the value that `UserDefaults` stores for a URL: a path for a file URL, archived bytes for any other.
  /// - Throws: The errors of `NSKeyedArchiver`.
  public init(_ url: URL) throws {
    self =
      url.isFileURL
      ? .string(url.path)
      : .data(try NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true))
  }

  /// Creates a string of the digits of a decimal number, since property lists have no decimals and ``real(_:)`` rounds.
  public init(_ decimal: Decimal) { self = .string(decimal.description) }

  /// The value as a string, or `nil` if it has another type.
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  /// The value as a Boolean, or `nil` if it has another type.
  public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  /// The value as a date, or `nil` if it has another type.
  public var date: Date? { if case .date(let value) = self { value } else { nil } }
  /// The value as raw bytes, or `nil` if it has another type.
  public var data: Data? { if case .data(let value) = self { value } else { nil } }
  /// The value as an array, or `nil` if it has another type.
  public var array: [PreferenceValue]? { if case .array(let values) = self { values } else { nil } }

  /// The value as an integer, or `nil` if it has another type or does not fit into `Int`.
  public var integer: Int? {
    switch self {
    case .integer(let value): Int(exactly: value)
    case .unsigned(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The value as a floating-point number, or `nil` if it is no number or an integer that `Double` cannot represent
  /// exactly.
  public var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(exactly: value)
    case .unsigned(let value): Double(exactly: value)
    default: nil
    }
  }

  /// The URL that ``init(_:)-(URL)`` or `UserDefaults` has stored, or `nil` if it is none. A string that is not an
  /// absolute path is parsed as a URL.
  public var url: URL? {
    switch self {
    case .string(let text): text.hasPrefix("/") ? URL(fileURLWithPath: text) : URL(string: text)
    case .data(let data): (try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSURL.self, from: data)) as URL?
    default: nil
    }
  }

  /// The value as a decimal number, or `nil` if it is neither a number nor the digits of one.
  public var decimal: Decimal? {
    switch self {
    case .string(let text): Decimal(exactly: text)
    case .integer(let value): Decimal(value)
    case .unsigned(let value): Decimal(value)
    case .real(let value): Decimal(exactly: "\(value)")
    default: nil
    }
  }
}

extension PreferenceValue {
  /// The value with the entries of each dictionary sorted by name; `nil` if a dictionary has a duplicate name.
  var ordered: PreferenceValue? {
    switch self {
    case .array(let values):
      let ordered = values.compactMap(\.ordered)
      return ordered.count == values.count ? .array(ordered) : nil
    case .dictionary(let entries):
      let ordered = entries.compactMap { entry in entry.value.ordered.map { PreferenceValue.Entry(entry.name, $0) } }
        .sorted { $0.name < $1.name }
      let isUnique = zip(ordered, ordered.dropFirst()).allSatisfy { $0.name != $1.name }
      return ordered.count == entries.count && isUnique ? .dictionary(ordered) : nil
    default: return self
    }
  }
}

extension PreferenceValue {
  /// An entry of a ``PreferenceValue/dictionary(_:)``.
  public struct Entry: Hashable, Sendable {
    /// The name of the entry, unique in its dictionary.
    public let name: String
    /// The value of the entry, of any property list type.
    public let value: PreferenceValue

    /// Creates an entry of a dictionary.
    public init(_ name: String, _ value: PreferenceValue) {
      self.name = name
      self.value = value
    }
  }
}

extension PreferenceValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(arrayLiteral elements: PreferenceValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, PreferenceValue)...) {
    self = .dictionary(elements.map { PreferenceValue.Entry($0.0, $0.1) }.sorted { $0.name < $1.name })
  }
}

extension Decimal {
  /// Parses a whole string as a decimal number. `Decimal(string:)` accepts trailing text.
  fileprivate init?(exactly text: String) {
    let digits = text.utf8.allSatisfy { (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) }
    guard digits, !text.isEmpty, let value = Decimal(string: text, locale: nil) else { return nil }
    self = value
  }
}
