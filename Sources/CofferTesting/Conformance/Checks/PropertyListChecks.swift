import CofferCore
import Foundation

/// Checks that a store of property lists keeps the type of each value. A decorator that changes the bytes of values
/// and forwards the capability fails them: the changed bytes are no values of the type.
enum PropertyListChecks {
  static let all = [kept, malformed]

  /// The attribute of a value's property list type, and its codes; see `docs/formats/preferences.md`.
  private static let type = ValueAttribute.preferenceKind
  private static let (data, boolean) = (UInt8(1), UInt8(4))

  private static func attributes(_ code: UInt8) -> ValueAttributes {
    var attributes = ValueAttributes()
    attributes[type] = code
    return attributes
  }

  private static let kept = Check("with propertyLists, each value keeps its type", requires: .propertyLists) { bench in
    let values: [(String, UInt8)] = [
      ("bytes", data), ("dark", 2), ("42", 3), ("0.5", 3), ("true", boolean), ("700000000.25", 5), ("[1,2]", 6),
    ]
    for (number, (text, code)) in values.enumerated() {
      let key = try KeyName("k\(number)")
      try await bench.commit(.put(key, bytes(text), attributes(code)))
      let entry = try await bench.engine.entry(key)
      try bench.expect("the value '\(text)'", entry?.value, equals: bytes(text))
      try bench.expect("the type of '\(text)'", entry?.attributes[type], equals: code)
    }
  }

  private static let malformed = Check(
    "with propertyLists, bytes that are no value of their type are stored as data", requires: .propertyLists
  ) { bench in
    let key = KeyName("k")
    try await bench.commit(.put(key, bytes("perhaps"), attributes(boolean)))
    let entry = try await bench.engine.entry(key)
    try bench.expect("the value", entry?.value, equals: bytes("perhaps"))
    try bench.expect("its type", entry?.attributes[type], equals: data)
  }
}
