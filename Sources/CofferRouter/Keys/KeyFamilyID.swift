public import Foundation

/// A type whose values identify the keys of a ``KeyFamily``: `String`, `Int`, `UUID`, or a type that conforms to it.
///
/// A raw-representable type with such a raw value conforms without code:
///
/// ```swift
/// struct DraftID: RawRepresentable, KeyFamilyID { let rawValue: UUID }
/// ```
///
/// The text of an id is stored as part of the key's name, so it must never change for a given id, and different ids
/// must have texts of different bytes. Texts are compared by their bytes: the two Unicode forms of `é` are two ids.
public protocol KeyFamilyID: Hashable, Sendable {
  /// The id as text, of at least one byte.
  var keyText: String { get }
  /// Creates the id with a text, or returns `nil` if no id has exactly this text.
  init?(keyText: String)
}

extension String: KeyFamilyID {
  public var keyText: String { self }
  public init?(keyText: String) { self = keyText }
}

extension Int: KeyFamilyID {
  public var keyText: String { String(self) }
  public init?(keyText: String) { self.init(keyText) }
}

extension UUID: KeyFamilyID {
  public var keyText: String { uuidString }
  public init?(keyText: String) { self.init(uuidString: keyText) }
}

extension KeyFamilyID where Self: RawRepresentable, RawValue: KeyFamilyID {
  public var keyText: String { rawValue.keyText }
  public init?(keyText: String) {
    guard let rawValue = RawValue(keyText: keyText) else { return nil }
    self.init(rawValue: rawValue)
  }
}
