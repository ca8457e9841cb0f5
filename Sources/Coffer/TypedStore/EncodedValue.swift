import CofferCore
import CofferFiles
package import Foundation

/// A value as an engine stores it: its bytes, and the attributes by which the store or a reader interprets them.
package struct EncodedValue: Hashable, Sendable {
  package let data: Data
  package let attributes: ValueAttributes

  package init(_ data: Data, _ attributes: ValueAttributes = .none) {
    self.data = data
    self.attributes = attributes
  }

  package init(_ entry: StoreEntry) { self.init(entry.value, entry.attributes) }

  /// Creates the form of a value in a store of preferences: its property list type if it has one, else `bytes`.
  init<T>(preference value: T, otherwise bytes: () throws -> Data) rethrows {
    if let native = PreferenceConversion.encode(value) {
      self.init(native.data, native.attributes)
    } else {
      // The bytes of `nil` must not become the text "null" because the preference was a text before.
      self.init(try bytes(), PreferenceConversion.isNative(T.self) ? PreferenceConversion.bytes : .none)
    }
  }

  /// Returns the value with the date from which it is absent.
  package func expiring(_ date: Date?) -> EncodedValue {
    date.map { EncodedValue(data, ValueAttributes(expires: $0).merging(attributes)) } ?? self
  }

  /// Returns a text or bytes that an earlier version has imported as a JSON string and marked as such; `nil` for any
  /// other value, whose bytes are what Coffer itself stores.
  func jsonString<T>(_ type: T.Type) throws -> T? {
    guard type == String.self || type == Data.self, attributes[.jsonString] == 1 else { return nil }
    let decoder = JSONDecoder()
    return try type == String.self
      ? decoder.decode(String.self, from: data) as? T : decoder.decode(Data.self, from: data) as? T
  }

  /// Returns the value of a preference that has the property list type of `type`, or `nil`.
  func preference<T>(_ type: T.Type) -> T? { PreferenceConversion.decode(type, data, attributes) }
}
