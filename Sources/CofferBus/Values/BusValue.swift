public import Foundation

/// A D-Bus value.
///
/// ```swift
/// let hints = BusValue.properties([("urgency", .byte(1)), ("desktop-entry", .string("shop"))])
/// hints.property("urgency")?.byte  // 1
/// ```
///
/// Reading never fails: the properties are `nil` for values of another type or for missing members. A value that is not
/// valid in D-Bus, such as a string with a zero byte or an array whose elements differ in type, is refused when it is
/// sent, with ``BusFailure/Kind/invalid``.
public indirect enum BusValue: Equatable, Sendable {
  /// `b`: a Boolean value.
  case bool(Bool)
  /// `y`: an unsigned 8-bit integer.
  case byte(UInt8)
  /// `n`: a signed 16-bit integer.
  case int16(Int16)
  /// `q`: an unsigned 16-bit integer.
  case uint16(UInt16)
  /// `i`: a signed 32-bit integer.
  case int32(Int32)
  /// `u`: an unsigned 32-bit integer.
  case uint32(UInt32)
  /// `x`: a signed 64-bit integer.
  case int64(Int64)
  /// `t`: an unsigned 64-bit integer.
  case uint64(UInt64)
  /// `d`: a double-precision floating-point number.
  case double(Double)
  /// `h`: the index of a file descriptor in its message.
  case handle(Int32)
  /// `s`: a string.
  case string(String)
  /// `o`: the path of an object.
  case objectPath(String)
  /// `g`: a sequence of types.
  case signature(String)
  /// `ay`: an array of bytes.
  case bytes(Data)
  /// `a`: any other array; `of` is the type of the elements, which an empty array has as well.
  case array(of: String, [BusValue])
  /// `(...)`: a structure.
  case structure([BusValue])
  /// `{..}`: an entry of a dictionary: a key of a basic type and a value.
  case entry(BusValue, BusValue)
  /// `v`: a variant, which is a value together with its type.
  case variant(BusValue)

  // MARK: Making

  /// Creates an array of strings (`as`).
  public static func strings(_ texts: [String]) -> BusValue { .array(of: "s", texts.map { .string($0) }) }

  /// Creates an array of object paths (`ao`).
  public static func objectPaths(_ paths: [String]) -> BusValue { .array(of: "o", paths.map { .objectPath($0) }) }

  /// Creates a dictionary of properties (`a{sv}`).
  public static func properties(_ properties: [(name: String, value: BusValue)]) -> BusValue {
    .array(of: "{sv}", properties.map { .entry(.string($0.name), .variant($0.value)) })
  }

  // MARK: Reading

  /// The type of the value, in D-Bus notation.
  public var signature: String {
    switch self {
    case .bool: "b"
    case .byte: "y"
    case .int16: "n"
    case .uint16: "q"
    case .int32: "i"
    case .uint32: "u"
    case .int64: "x"
    case .uint64: "t"
    case .double: "d"
    case .handle: "h"
    case .string: "s"
    case .objectPath: "o"
    case .signature: "g"
    case .bytes: "ay"
    case .array(let type, _): "a" + type
    case .structure(let members): "(" + members.map(\.signature).joined() + ")"
    case .entry(let key, let value): "{" + key.signature + value.signature + "}"
    case .variant: "v"
    }
  }

  /// The text of a string or an object path; `nil` for other types.
  public var text: String? {
    switch self {
    case .string(let text), .objectPath(let text): text
    default: nil
    }
  }

  /// The value of a `b`; `nil` for other types.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The value of a `y`; `nil` for other types.
  public var byte: UInt8? { if case .byte(let value) = self { value } else { nil } }

  /// The value of an `i`; `nil` for other types.
  public var int32: Int32? { if case .int32(let value) = self { value } else { nil } }

  /// The value of a `u`; `nil` for other types.
  public var uint32: UInt32? { if case .uint32(let value) = self { value } else { nil } }

  /// The value of a `t`; `nil` for other types.
  public var uint64: UInt64? { if case .uint64(let value) = self { value } else { nil } }

  /// The bytes of an `ay`; `nil` for other types.
  public var bytes: Data? { if case .bytes(let data) = self { data } else { nil } }

  /// The value inside a `v`; `nil` for other types.
  public var unboxed: BusValue? { if case .variant(let value) = self { value } else { nil } }

  /// The members of a structure, the elements of an array (other than `ay`), or the key and the value of an entry.
  public var children: [BusValue] {
    switch self {
    case .array(_, let children), .structure(let children): children
    case .entry(let key, let value): [key, value]
    default: []
    }
  }

  /// The texts of those children that are strings or object paths.
  public var texts: [String] { children.compactMap(\.text) }

  /// The child at an index, or `nil` if there is none.
  public subscript(index: Int) -> BusValue? {
    let children = children
    return children.indices.contains(index) ? children[index] : nil
  }

  /// Returns the value of a name in an `a{sv}`, or `nil` if there is none.
  public func property(_ name: String) -> BusValue? {
    children.first { $0[0]?.text.map { $0.utf8.elementsEqual(name.utf8) } == true }.flatMap { $0[1]?.unboxed }
  }
}
