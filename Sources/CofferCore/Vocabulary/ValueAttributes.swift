public import Foundation

/// Small named facts that are stored with a value, in the same commit: the type of a preference, when a secret may be
/// read, later the version of a value's schema or the key that it is encrypted with.
///
/// Attributes belong to one version of a value: the next put replaces them with its own, and an edit by a program that
/// does not know the store leaves none. They are not part of the value: ``StoreEntry/value`` has the same bytes with
/// and without them. They take up to ``maximumSize`` bytes together, and a value without any costs nothing more.
///
/// They are no place for secrets: a home of secrets keeps them in its journal, which is not encrypted.
///
/// ```swift
/// let schemaVersion = ValueAttribute<UInt64>(applicationCode: 128)
/// var attributes = ValueAttributes()
/// attributes[schemaVersion] = 3
/// try await engine.commit(WriteBatch([.put(key, data, attributes)]), from: origin)
/// let version = try await engine.entry(key)?.attributes[schemaVersion]  // 3
/// ```
public struct ValueAttributes: Hashable, Sendable {
  /// How many bytes an application's attributes of one value take at most, encoded. The library's own few come on top.
  public static let maximumSize = 1_024
  /// No attributes.
  public static let none = ValueAttributes()

  /// What engines store: for each attribute, in the ascending order of the codes, its code (1 byte), the size of its
  /// content (2 bytes, little-endian) and its content. Empty when there are none.
  public private(set) var encoded: [UInt8]

  /// No attributes.
  public init() { encoded = [] }

  /// What an engine has stored; `nil` for bytes that ``encoded`` never has.
  public init?(encoded bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count <= 2 * Self.maximumSize else { return nil }
    var (index, last) = (0, -1)
    while index < bytes.count {
      guard let field = Self.field(in: bytes, at: index), Int(bytes[index]) > last else { return nil }
      (last, index) = (Int(bytes[index]), field.upperBound)
    }
    encoded = bytes
  }

  /// How many bytes those of the application take.
  package var applicationSize: Int {
    var (index, size) = (0, 0)
    while let field = Self.field(in: encoded, at: index) {
      if encoded[index] >= 128 { size += field.upperBound - index }
      index = field.upperBound
    }
    return size
  }

  /// Whether there are none.
  public var isEmpty: Bool { encoded.isEmpty }

  /// The content of one attribute; `nil` when there is none, or one of another type.
  public subscript<Value>(attribute: ValueAttribute<Value>) -> Value? {
    get { content(of: attribute.code).flatMap { Value(attributeContent: $0) } }
    set { set(attribute.code, newValue?.attributeContent) }
  }

  /// These, replaced by those of `others` where both have one.
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
    // What is cut here is far beyond what any store takes: the commit refuses it.
    let kept = content.prefix(Int(UInt16.max))
    let size = [UInt8(truncatingIfNeeded: kept.count), UInt8(truncatingIfNeeded: kept.count >> 8)]
    encoded.insert(contentsOf: [code] + size + kept, at: index)
  }

  /// Where the content of the attribute at an index is; `nil` at the end, and where the bytes are none of ours.
  private static func field(in bytes: [UInt8], at index: Int) -> Range<Int>? {
    guard index + 3 <= bytes.count else { return nil }
    let end = index + 3 + Int(bytes[index + 1]) + Int(bytes[index + 2]) << 8
    return end <= bytes.count ? index + 3..<end : nil
  }
}

/// The name and the type of one attribute.
public struct ValueAttribute<Value: ValueAttributeContent>: Sendable {
  /// What the attribute is stored under. Codes up to 127 are the library's.
  public let code: UInt8

  /// An attribute of an application's own.
  /// - Parameter applicationCode: from 128 on. It is stored: never give it another meaning.
  public init(applicationCode: UInt8) {
    precondition(applicationCode >= 128, "The codes below 128 are the library's.")
    code = applicationCode
  }

  /// One of the library's, listed in `docs/formats/sqlite.md`.
  package init(code: UInt8) { self.code = code }
}

/// A type that an attribute can have.
public protocol ValueAttributeContent: Sendable {
  /// What is stored.
  var attributeContent: [UInt8] { get }
  /// What was stored; `nil` for bytes that are of another type.
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
  /// Eight bytes, little-endian.
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
  /// The milliseconds since 1970, as eight bytes, little-endian.
  public var attributeContent: [UInt8] { UInt64(bitPattern: unixMilliseconds).attributeContent }
  public init?(attributeContent bytes: ArraySlice<UInt8>) {
    guard let milliseconds = UInt64(attributeContent: bytes) else { return nil }
    self.init(unixMilliseconds: Int64(bitPattern: milliseconds))
  }
}

extension Date {
  /// Milliseconds since 1970, as stores keep dates.
  package var unixMilliseconds: Int64 {
    Int64(exactly: (timeIntervalSince1970 * 1_000).rounded()) ?? (timeIntervalSince1970 < 0 ? .min : .max)
  }

  package init(unixMilliseconds: Int64) { self.init(timeIntervalSince1970: Double(unixMilliseconds) / 1_000) }

  /// The same moment as a store keeps it: in whole milliseconds.
  package var inMilliseconds: Date { Date(unixMilliseconds: unixMilliseconds) }
}
