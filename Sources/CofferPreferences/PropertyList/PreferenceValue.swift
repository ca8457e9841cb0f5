public import Foundation

/// A value of a property list: what `UserDefaults` keeps.
///
/// ```swift
/// try await adapter.set("dark", for: "theme")            // UserDefaults(suiteName:)?.string(forKey: "theme")
/// try await adapter.set(.date(Date()), for: "lastSync")  // keeps the fraction of the second
/// ```
public enum PreferenceValue: Hashable, Sendable {
  /// Text.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A whole number that is too large for ``integer(_:)``.
  case unsigned(UInt64)
  /// Any other number.
  case real(Double)
  /// Yes or no.
  case boolean(Bool)
  /// A moment, exact to the fraction of a second that `Date` holds.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// Several values.
  case array([PreferenceValue])
  /// Values with names, in the order of the names; each name once.
  case dictionary([PreferenceEntry])

  /// An URL as `UserDefaults` keeps it: a path for a file, archived bytes for any other.
  /// - Throws: What `NSKeyedArchiver` throws.
  public init(_ url: URL) throws {
    self =
      url.isFileURL
      ? .string(url.path)
      : .data(try NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true))
  }

  /// A decimal number as its digits: property lists have no decimal numbers, and a ``real(_:)`` would round it.
  public init(_ decimal: Decimal) { self = .string(decimal.description) }

  /// The text, if it is one.
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  /// Yes or no, if it is that.
  public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  /// The moment, if it is one.
  public var date: Date? { if case .date(let value) = self { value } else { nil } }
  /// The bytes, if it is some.
  public var data: Data? { if case .data(let value) = self { value } else { nil } }
  /// The values, if it is several.
  public var array: [PreferenceValue]? { if case .array(let values) = self { values } else { nil } }

  /// The whole number, if it is one that fits.
  public var integer: Int? {
    switch self {
    case .integer(let value): Int(exactly: value)
    case .unsigned(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, if it is one; a whole number beyond 2⁵³ only if it is exact.
  public var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(exactly: value)
    case .unsigned(let value): Double(exactly: value)
    default: nil
    }
  }

  /// The URL that ``init(_:)-(URL)`` or `UserDefaults` has stored; text that is no absolute path is read as an URL.
  public var url: URL? {
    switch self {
    case .string(let text): text.hasPrefix("/") ? URL(fileURLWithPath: text) : URL(string: text)
    case .data(let data): (try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSURL.self, from: data)) as URL?
    default: nil
    }
  }

  /// The decimal number, if it is a number or the digits of one.
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
  /// The same with the entries of each dictionary in the order of their names; `nil` when one has a name twice.
  var ordered: PreferenceValue? {
    switch self {
    case .array(let values):
      let ordered = values.compactMap(\.ordered)
      return ordered.count == values.count ? .array(ordered) : nil
    case .dictionary(let entries):
      let ordered = entries.compactMap { entry in entry.value.ordered.map { PreferenceEntry(entry.name, $0) } }
        .sorted { $0.name < $1.name }
      let isUnique = zip(ordered, ordered.dropFirst()).allSatisfy { $0.name != $1.name }
      return ordered.count == entries.count && isUnique ? .dictionary(ordered) : nil
    default: return self
    }
  }
}

/// A value and its name in a ``PreferenceValue/dictionary(_:)``.
public struct PreferenceEntry: Hashable, Sendable {
  /// Its name.
  public let name: String
  /// The value.
  public let value: PreferenceValue

  /// A value with a name.
  public init(_ name: String, _ value: PreferenceValue) {
    self.name = name
    self.value = value
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
    self = .dictionary(elements.map { PreferenceEntry($0.0, $0.1) }.sorted { $0.name < $1.name })
  }
}

extension Decimal {
  /// The number that some digits are, whole: `Decimal(string:)` reads as far as it understands.
  fileprivate init?(exactly text: String) {
    let digits = text.utf8.allSatisfy { (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) }
    guard digits, !text.isEmpty, let value = Decimal(string: text, locale: nil) else { return nil }
    self = value
  }
}
