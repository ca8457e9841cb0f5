package import CofferCore
package import Foundation

/// A type whose values a property list can represent, possibly only some of them: an array is a list of the values that
/// its elements are.
private protocol NativePreference {
  /// The value as a property list value; `nil` if there is none that represents it exactly.
  var native: PreferenceValue? { get }
  /// Creates a value from a property list value; `nil` if that is of another type.
  static func make(_ value: PreferenceValue) -> Self?
}

/// The conversion between Swift's types and the property list types under which `UserDefaults` stores them.
package enum PreferenceConversion {
  /// Returns a value as the bytes and attributes of its property list type, or `nil` for a type that has none.
  ///
  /// A value that its type cannot represent, such as `nil` or an array that contains it, is `nil` as well; then
  /// ``isNative(_:)`` is true.
  package static func encode<T>(_ value: T) -> (data: Data, attributes: ValueAttributes)? {
    guard let native = native(of: value) else { return nil }
    let bytes = native.bytes
    guard PreferenceValue(bytes, as: native.kind) != nil else { return nil }
    return (bytes, native.attributes)
  }

  /// Whether values of a type have a property list type, apart from single values that do not.
  package static func isNative<T>(_ type: T.Type) -> Bool {
    if type is any NativePreference.Type { return true }
    guard let type = type as? any RawRepresentable.Type else { return false }
    return hasNativeRawValue(type)
  }

  /// The attributes of a value that is stored as bytes, whatever the preference was before.
  package static var bytes: ValueAttributes { PreferenceValue.data(Data()).attributes }

  /// Returns the value that a store of preferences has reported as bytes and attributes; `nil` if it is not of a type
  /// that represents a `T`, and for attributes of other stores.
  ///
  /// Reading is as liberal as `UserDefaults` where nothing is lost: a Boolean may be the number 0 or 1, a number any
  /// number that its type represents, and a text a number.
  package static func decode<T>(_ type: T.Type, _ bytes: Data, _ attributes: ValueAttributes) -> T? {
    guard let code = attributes[.preferenceKind], let kind = PreferenceKind(rawValue: code), isNative(type),
      let value = PreferenceValue(bytes, as: kind)
    else { return nil }
    return make(type, value)
  }

  fileprivate static func native<T>(of value: T) -> PreferenceValue? {
    if let value = value as? any NativePreference { return value.native }
    guard let value = value as? any RawRepresentable else { return nil }
    return (value.rawValue as? any NativePreference)?.native
  }

  fileprivate static func make<T>(_ type: T.Type, _ value: PreferenceValue) -> T? {
    // Without these guards, a missing value would be cast to an optional `T` that is `nil`.
    if let type = type as? any NativePreference.Type {
      guard let made = type.make(value) else { return nil }
      return made as? T
    }
    guard let type = type as? any RawRepresentable.Type, let made = makeRaw(type, value) else { return nil }
    return made as? T
  }

  private static func hasNativeRawValue<R: RawRepresentable>(_ type: R.Type) -> Bool {
    R.RawValue.self is any NativePreference.Type
  }

  private static func makeRaw<R: RawRepresentable>(_ type: R.Type, _ value: PreferenceValue) -> R? {
    make(R.RawValue.self, value).flatMap { R(rawValue: $0) }
  }
}

extension String: NativePreference {
  fileprivate var native: PreferenceValue? { .string(self) }

  fileprivate static func make(_ value: PreferenceValue) -> String? {
    switch value {
    case .string(let text): text
    case .integer, .unsigned, .real: String(decoding: value.bytes, as: UTF8.self)
    default: nil
    }
  }
}

extension Bool: NativePreference {
  fileprivate var native: PreferenceValue? { .boolean(self) }

  fileprivate static func make(_ value: PreferenceValue) -> Bool? {
    switch value {
    case .boolean(let value): value
    case .integer(0): false
    case .integer(1): true
    default: nil
    }
  }
}

extension Date: NativePreference {
  fileprivate var native: PreferenceValue? { .date(self) }
  fileprivate static func make(_ value: PreferenceValue) -> Date? { value.date }
}

extension Data: NativePreference {
  fileprivate var native: PreferenceValue? { .data(self) }
  fileprivate static func make(_ value: PreferenceValue) -> Data? { value.data }
}

extension URL: NativePreference {
  // A path loses the base of a URL, and the slash at the end of a directory that does not exist.
  fileprivate var native: PreferenceValue? {
    guard baseURL == nil, let value = try? PreferenceValue(self), value.url == self else { return nil }
    return value
  }

  fileprivate static func make(_ value: PreferenceValue) -> URL? { value.url }
}

// MARK: Numbers

extension NativePreference where Self: FixedWidthInteger {
  fileprivate var native: PreferenceValue? {
    Int64(exactly: self).map { .integer($0) } ?? UInt64(exactly: self).map { .unsigned($0) }
  }

  fileprivate static func make(_ value: PreferenceValue) -> Self? {
    switch value {
    case .integer(let value): Self(exactly: value)
    case .unsigned(let value): Self(exactly: value)
    case .real(let value): Self(exactly: value)
    default: nil
    }
  }
}

extension Int: NativePreference {}
extension Int8: NativePreference {}
extension Int16: NativePreference {}
extension Int32: NativePreference {}
extension Int64: NativePreference {}
extension UInt: NativePreference {}
extension UInt8: NativePreference {}
extension UInt16: NativePreference {}
extension UInt32: NativePreference {}
extension UInt64: NativePreference {}

extension Double: NativePreference {
  fileprivate var native: PreferenceValue? { .real(self) }
  fileprivate static func make(_ value: PreferenceValue) -> Double? { value.real }
}

extension Float: NativePreference {
  fileprivate var native: PreferenceValue? { .real(Double(self)) }

  /// Rounds as `UserDefaults.float(forKey:)` does; `nil` for a number that is too large.
  fileprivate static func make(_ value: PreferenceValue) -> Float? {
    guard let number = value.real else { return nil }
    let rounded = Float(number)
    return rounded.isInfinite && !number.isInfinite ? nil : rounded
  }
}

// MARK: Containers

extension Optional: NativePreference {
  fileprivate var native: PreferenceValue? { flatMap { PreferenceConversion.native(of: $0) } }

  /// Returns `nil` if `value` is no `Wrapped`, never an absent value.
  fileprivate static func make(_ value: PreferenceValue) -> Wrapped?? {
    PreferenceConversion.make(Wrapped.self, value).map { .some($0) }
  }
}

extension Array: NativePreference {
  fileprivate var native: PreferenceValue? {
    var values: [PreferenceValue] = []
    for element in self {
      guard let value = PreferenceConversion.native(of: element) else { return nil }
      values.append(value)
    }
    return .array(values)
  }

  fileprivate static func make(_ value: PreferenceValue) -> [Element]? {
    guard let values = value.array else { return nil }
    let elements = values.compactMap { PreferenceConversion.make(Element.self, $0) }
    return elements.count == values.count ? elements : nil
  }
}

extension Dictionary: NativePreference {
  fileprivate var native: PreferenceValue? {
    guard Key.self == String.self else { return nil }
    var entries: [PreferenceValue.Entry] = []
    for (key, value) in self {
      guard let name = key as? String, let value = PreferenceConversion.native(of: value) else { return nil }
      entries.append(PreferenceValue.Entry(name, value))
    }
    return .dictionary(entries.sorted { $0.name < $1.name })
  }

  fileprivate static func make(_ value: PreferenceValue) -> [Key: Value]? {
    guard case .dictionary(let entries) = value else { return nil }
    var values: [Key: Value] = [:]
    for entry in entries {
      guard let key = entry.name as? Key, let value = PreferenceConversion.make(Value.self, entry.value) else {
        return nil
      }
      values[key] = value
    }
    return values.count == entries.count ? values : nil
  }
}
