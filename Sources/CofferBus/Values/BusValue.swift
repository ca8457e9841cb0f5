public import Foundation

/// A value as D-Bus carries it.
///
/// ```swift
/// let hints = BusValue.properties([("urgency", .byte(1)), ("desktop-entry", .string("shop"))])
/// hints.property("urgency")?.byte  // 1
/// ```
///
/// Reading never fails: what has another type, or is not there, is `nil`. What D-Bus cannot carry, such as a text with
/// a zero byte or an array whose elements differ in type, is refused when it is sent, with ``BusFailure/Kind/invalid``.
public indirect enum BusValue: Equatable, Sendable {
  /// `b`
  case bool(Bool)
  /// `y`
  case byte(UInt8)
  /// `n`
  case int16(Int16)
  /// `q`
  case uint16(UInt16)
  /// `i`
  case int32(Int32)
  /// `u`
  case uint32(UInt32)
  /// `x`
  case int64(Int64)
  /// `t`
  case uint64(UInt64)
  /// `d`
  case double(Double)
  /// `h`: the place of a file descriptor in its message.
  case handle(Int32)
  /// `s`
  case string(String)
  /// `o`
  case objectPath(String)
  /// `g`: one or more types.
  case signature(String)
  /// `ay`
  case bytes(Data)
  /// Any other array; `of` is the type of the elements, which also tells it when there are none.
  case array(of: String, [BusValue])
  /// `(...)`
  case structure([BusValue])
  /// `{..}`, the element of a dictionary: a key, which is no container, and a value.
  case entry(BusValue, BusValue)
  /// `v`: a value that carries its type along.
  case variant(BusValue)

  // MARK: Making

  /// `as`
  public static func strings(_ texts: [String]) -> BusValue { .array(of: "s", texts.map { .string($0) }) }

  /// `ao`
  public static func objectPaths(_ paths: [String]) -> BusValue { .array(of: "o", paths.map { .objectPath($0) }) }

  /// `a{sv}`
  public static func properties(_ properties: [(name: String, value: BusValue)]) -> BusValue {
    .array(of: "{sv}", properties.map { .entry(.string($0.name), .variant($0.value)) })
  }

  // MARK: Reading

  /// The type, in the notation of D-Bus.
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

  /// Of a string or an object path.
  public var text: String? {
    switch self {
    case .string(let text), .objectPath(let text): text
    default: nil
    }
  }

  /// Of a `b`.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// Of a `y`.
  public var byte: UInt8? { if case .byte(let value) = self { value } else { nil } }

  /// Of an `i`.
  public var int32: Int32? { if case .int32(let value) = self { value } else { nil } }

  /// Of a `u`.
  public var uint32: UInt32? { if case .uint32(let value) = self { value } else { nil } }

  /// Of a `t`.
  public var uint64: UInt64? { if case .uint64(let value) = self { value } else { nil } }

  /// Of an `ay`.
  public var bytes: Data? { if case .bytes(let data) = self { data } else { nil } }

  /// What is in a `v`.
  public var unboxed: BusValue? { if case .variant(let value) = self { value } else { nil } }

  /// The members of a structure, the elements of an array (other than `ay`), or the key and the value of an entry.
  public var children: [BusValue] {
    switch self {
    case .array(_, let children), .structure(let children): children
    case .entry(let key, let value): [key, value]
    default: []
    }
  }

  /// The texts in an array or structure of them.
  public var texts: [String] { children.compactMap(\.text) }

  /// A member, element, key or value.
  public subscript(index: Int) -> BusValue? {
    let children = children
    return children.indices.contains(index) ? children[index] : nil
  }

  /// The value of a name in an `a{sv}`.
  public func property(_ name: String) -> BusValue? {
    children.first { $0[0]?.text.map { $0.utf8.elementsEqual(name.utf8) } == true }.flatMap { $0[1]?.unboxed }
  }
}
