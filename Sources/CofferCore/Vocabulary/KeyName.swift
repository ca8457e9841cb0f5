import Foundation

/// The name of one stored value: 1 to 1,024 bytes of UTF-8.
///
/// Two keys are equal only if their bytes are equal. Swift's `String` compares by canonical equivalence, so that `"é"`
/// and `"e\u{301}"` are one dictionary key; here they are two keys, as they are in databases and in most file systems.
/// Keys sort by their bytes.
///
/// ```swift
/// let theme = KeyName("settings/theme")
/// ```
///
/// Every string of that size is a valid key in every store: `../x`, `a/b`, `CON` and emoji are ordinary keys.
public struct KeyName: Sendable {
  /// The maximum size of a key, in UTF-8 bytes.
  public static let maximumSize = 1_024

  /// The key as text. Compare keys, not these strings: `String` equality merges Unicode forms.
  public let string: String

  /// Creates a key from a string.
  /// - Throws: ``StorageError`` with code ``StorageError/Code-swift.struct/invalidKey`` if the string is empty or
  ///   longer than ``maximumSize`` bytes.
  public init(_ string: String) throws {
    var contiguous = string
    contiguous.makeContiguousUTF8()
    let size = contiguous.utf8.count
    guard size > 0 else {
      throw StorageError(.invalidKey, "A key must not be empty.", advice: "Give the value a name of at least one byte.")
    }
    guard size <= Self.maximumSize else {
      throw StorageError(
        .invalidKey, "The key has \(size) bytes; the limit is \(Self.maximumSize).",
        advice: "Shorten it, or store a hash of it as the key.")
    }
    self.string = contiguous
  }

  /// The size of the key, in UTF-8 bytes.
  public var size: Int { string.utf8.count }

  /// Calls `body` with the key's UTF-8 bytes, without copying them.
  @inlinable
  public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    // No copy of the string, so that no reference is counted: as long as the rest of a look-up.
    if let result = try string.utf8.withContiguousStorageIfAvailable({ try body(UnsafeRawBufferPointer($0)) }) {
      return result
    }
    return try withCopiedBytes(body)
  }

  @usableFromInline
  func withCopiedBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    var text = string
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }

  /// Returns whether the bytes of this key start with those of `prefix`.
  public func hasPrefix(_ prefix: KeyName) -> Bool {
    withBytes { mine in
      prefix.withBytes { other in
        mine.count >= other.count && compareBytes(mine, other, count: other.count) == 0
      }
    }
  }
}

extension KeyName: ExpressibleByStringLiteral {
  /// Creates a key from a string literal, as in `engine.entry("settings/theme")`.
  /// - Precondition: The literal has 1 to ``maximumSize`` bytes. For a string that is not written in the source code
  ///   use `KeyName(_:)`, which throws.
  public init(stringLiteral literal: StaticString) {
    let text = literal.description
    precondition(
      1...Self.maximumSize ~= text.utf8.count, "The literal '\(text)' is not a key: a key has 1 to 1,024 bytes.")
    string = text
  }
}

extension KeyName: Hashable {
  @inlinable
  public static func == (left: KeyName, right: KeyName) -> Bool {
    // A copy of a key is the same two words, as is a short key of the same bytes: no reference is counted.
    if MemoryLayout<String>.size == 16,
      unsafeBitCast(left.string, to: (UInt64, UInt64).self) == unsafeBitCast(right.string, to: (UInt64, UInt64).self)
    {
      return true
    }
    return left.hasBytes(of: right)
  }

  @usableFromInline
  func hasBytes(of other: KeyName) -> Bool {
    withBytes { l in
      other.withBytes { r in l.count == r.count && compareBytes(l, r, count: l.count) == 0 }
    }
  }

  @inlinable
  public func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: $0) }
  }
}

extension KeyName: Comparable {
  public static func < (left: KeyName, right: KeyName) -> Bool {
    left.withBytes { l in
      right.withBytes { r in
        let order = compareBytes(l, r, count: min(l.count, r.count))
        return order == 0 ? l.count < r.count : order < 0
      }
    }
  }
}

extension KeyName: CustomStringConvertible {
  public var description: String { string }
}

private func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, count: Int) -> Int32 {
  guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
  return memcmp(left, right, count)
}
