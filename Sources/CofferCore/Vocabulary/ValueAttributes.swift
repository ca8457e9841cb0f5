public import Foundation

/// Metadata that is stored with a value in the same commit, such as the type of a preference, the accessibility of a
/// secret, or the version of a value's schema.
///
/// Attributes belong to one version of a value: the next put replaces them with its own, and an edit by a program that
/// does not use this library removes them. They are not part of the value: ``StoreEntry/value`` has the same bytes with
/// and without them. Those of an application are limited to ``maximumSize`` bytes in total; a value without attributes
/// uses no space for them.
///
/// - Warning: Do not put secrets into attributes. A store of secrets keeps them in its journal, which is not encrypted.
///
/// ```swift
/// let schemaVersion = ValueAttribute<UInt64>(applicationCode: 128)
/// var attributes = ValueAttributes()
/// attributes[schemaVersion] = 3
/// try await engine.commit(WriteBatch([.put(key, data, attributes)]), from: origin)
/// let version = try await engine.entry(key)?.attributes[schemaVersion]  // 3
/// ```
public struct ValueAttributes: Hashable, Sendable {
  /// The maximum encoded size of an application's attributes of one value, in bytes. Attributes of the library are not
  /// counted.
  public static let maximumSize = 1_024
  /// An empty set of attributes.
  public static let none = ValueAttributes()

  /// The encoded form that engines store: for each attribute, in ascending order of the codes, its code (1 byte), the
  /// size of its content (2 bytes, little-endian) and its content. Empty if there are no attributes.
  public private(set) var encoded: [UInt8]

  /// Creates an empty set of attributes.
  public init() { encoded = [] }

  /// The maximum encoded size of all attributes of one value, in bytes, with those of the library: the largest of
  /// these is the sealed and padded name of a value whose name is hidden.
  static let encodedLimit = 4 * maximumSize

  /// Creates attributes from their ``encoded`` form; `nil` if the bytes are malformed or larger than four times
  /// ``maximumSize``.
  @inlinable  // Unspecialized, the copy of no bytes would cost more than reading a row.
  public init?(encoded bytes: some Collection<UInt8>) { self.init(checking: Array(bytes)) }

  @usableFromInline init?(checking bytes: [UInt8]) {
    guard bytes.count <= Self.encodedLimit else { return nil }
    var (index, last) = (0, -1)
    while index < bytes.count {
      guard let field = Self.field(in: bytes, at: index), Int(bytes[index]) > last else { return nil }
      (last, index) = (Int(bytes[index]), field.upperBound)
    }
    encoded = bytes
  }

  /// The encoded size of the application's attributes, in bytes.
  package var applicationSize: Int {
    var (index, size) = (0, 0)
    while let field = Self.field(in: encoded, at: index) {
      if encoded[index] >= 128 { size += field.upperBound - index }
      index = field.upperBound
    }
    return size
  }

  /// Whether there are no attributes.
  public var isEmpty: Bool { encoded.isEmpty }

  /// The value of one attribute; `nil` if there is none or if it has another type. Setting `nil` removes it.
  public subscript<Value>(attribute: ValueAttribute<Value>) -> Value? {
    get { content(of: attribute.code).flatMap { Value(attributeContent: $0) } }
    set { set(attribute.code, newValue?.attributeContent) }
  }

  /// Returns these attributes combined with `others`, whose values win where both have the same attribute.
  package func merging(_ others: ValueAttributes) -> ValueAttributes {
    guard !isEmpty, !others.isEmpty else { return isEmpty ? others : self }
    var merged = self
    var index = 0
    while let field = Self.field(in: others.encoded, at: index) {
      merged.set(others.encoded[index], others.encoded[field])
      index = field.upperBound
    }
    return merged
  }

  private func content(of code: UInt8) -> ArraySlice<UInt8>? {
    var index = 0
    while let field = Self.field(in: encoded, at: index) {
      if encoded[index] == code { return encoded[field] }
      index = field.upperBound
    }
    return nil
  }

  private mutating func set(_ code: UInt8, _ content: (some Collection<UInt8>)?) {
    var index = 0
    while let field = Self.field(in: encoded, at: index), encoded[index] <= code {
      if encoded[index] == code { encoded.removeSubrange(index..<field.upperBound) } else { index = field.upperBound }
    }
    guard let content else { return }
    // Content that is truncated here is far beyond `maximumSize`, so the commit is refused.
    let kept = content.prefix(Int(UInt16.max))
    let size = [UInt8(truncatingIfNeeded: kept.count), UInt8(truncatingIfNeeded: kept.count >> 8)]
    encoded.insert(contentsOf: [code] + size + kept, at: index)
  }

  /// Returns the range of the content of the attribute at `index`; `nil` at the end and for malformed bytes.
  private static func field(in bytes: [UInt8], at index: Int) -> Range<Int>? {
    guard index + 3 <= bytes.count else { return nil }
    let end = index + 3 + Int(bytes[index + 1]) + Int(bytes[index + 2]) << 8
    return end <= bytes.count ? index + 3..<end : nil
  }
}

/// The code and type of one attribute.
public struct ValueAttribute<Value: ValueAttributeContent>: Sendable {
  /// The code under which the attribute is stored. Codes up to 127 are reserved for the library.
  public let code: UInt8

  /// Creates an attribute of an application.
  /// - Parameter applicationCode: a code from 128 to 255. Codes are persistent: never reuse one with another meaning.
  public init(applicationCode: UInt8) {
    precondition(applicationCode >= 128, "The codes below 128 are reserved for the library.")
    code = applicationCode
  }

  /// Creates an attribute of the library. Its codes are listed in `docs/formats/sqlite.md`.
  package init(code: UInt8) { self.code = code }
}

/// A type whose values can be stored as attributes.
public protocol ValueAttributeContent: Sendable {
  /// The bytes that are stored for this value.
  var attributeContent: [UInt8] { get }
  /// Creates a value from its stored bytes; `nil` if they encode another type.
  init?(attributeContent: ArraySlice<UInt8>)
}

extension UInt8: ValueAttributeContent {
  public var attributeContent: [UInt8] { [self] }
  public init?(attributeContent bytes: ArraySlice<UInt8>) {
    guard bytes.count == 1, let byte = bytes.first else { return nil }
    self = byte
  }
}

extension UInt64: ValueAttributeContent {
  /// The number as eight bytes, little-endian.
  public var attributeContent: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
  public init?(attributeContent bytes: ArraySlice<UInt8>) {
    guard bytes.count == 8 else { return nil }
    self = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension String: ValueAttributeContent {
  public var attributeContent: [UInt8] { Array(utf8) }
  public init?(attributeContent bytes: ArraySlice<UInt8>) { self.init(validating: bytes, as: UTF8.self) }
}

extension Date: ValueAttributeContent {
  /// The date in milliseconds since 1970, as eight bytes, little-endian.
  public var attributeContent: [UInt8] { UInt64(bitPattern: unixMilliseconds).attributeContent }
  public init?(attributeContent bytes: ArraySlice<UInt8>) {
    guard let milliseconds = UInt64(attributeContent: bytes) else { return nil }
    self.init(unixMilliseconds: Int64(bitPattern: milliseconds))
  }
}

extension Date {
  /// The date in milliseconds since 1970, the unit in which stores keep dates; clamped if out of range.
  /// A date that is not a number is the earliest one, so that no value lives forever because of it.
  package var unixMilliseconds: Int64 {
    Int64(exactly: (timeIntervalSince1970 * 1_000).rounded()) ?? (timeIntervalSince1970 > 0 ? .max : .min)
  }

  package init(unixMilliseconds: Int64) { self.init(timeIntervalSince1970: Double(unixMilliseconds) / 1_000) }

  /// The date rounded to whole milliseconds, the precision of stores.
  package var inMilliseconds: Date { Date(unixMilliseconds: unixMilliseconds) }
}
