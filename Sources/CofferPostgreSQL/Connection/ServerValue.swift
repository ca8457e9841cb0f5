import Foundation

/// The type of a parameter, with its number in the catalogue `pg_type`.
enum ServerType: UInt32, Sendable {
  case bool = 16
  case bytes = 17
  case int8 = 20
  case text = 25
  case bytesArray = 1001
  case int8Array = 1016
  case uuid = 2950
}

/// The value of a parameter in the binary form in which it is sent.
struct ServerValue: Sendable {
  /// The binary form; `nil` for NULL.
  let encoded: Data?

  static let null = ServerValue(encoded: nil)

  static func bool(_ value: Bool) -> ServerValue { ServerValue(encoded: Data([value ? 1 : 0])) }

  static func bytes(_ value: Data) -> ServerValue { ServerValue(encoded: value) }

  static func int8(_ value: Int64) -> ServerValue {
    ServerValue(encoded: withUnsafeBytes(of: value.bigEndian) { Data($0) })
  }

  /// A text, which must not contain U+0000: the server refuses that.
  static func text(_ value: String) -> ServerValue { ServerValue(encoded: Data(value.utf8)) }

  /// A setting that is a duration.
  static func milliseconds(_ value: Duration) -> ServerValue {
    .text("\(Int64((value / .milliseconds(1)).rounded(.up)))ms")
  }

  static func uuid(_ value: UUID) -> ServerValue { ServerValue(encoded: value.data) }

  static func bytesArray(_ values: [Data?]) -> ServerValue { array(values, of: .bytes) }

  static func int8Array(_ values: [Int64?]) -> ServerValue {
    array(values.map { $0.flatMap { int8($0).encoded } }, of: .int8)
  }

  /// Returns an array: the number of dimensions, whether there are NULLs and the type of the elements; then, unless it
  /// is empty, its size and lower bound, and each element behind its size.
  private static func array(_ elements: [Data?], of type: ServerType) -> ServerValue {
    var encoded = Data(capacity: elements.reduce(20) { $0 + 4 + ($1?.count ?? 0) })
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.bigEndian) { encoded.append(contentsOf: $0) }
    }
    append(Int32(elements.isEmpty ? 0 : 1))
    append(Int32(elements.contains(nil) ? 1 : 0))
    append(type.rawValue)
    guard !elements.isEmpty else { return ServerValue(encoded: encoded) }
    append(Int32(clamping: elements.count))
    append(Int32(1))
    for element in elements {
      append(Int32(clamping: element?.count ?? -1))
      if let element { encoded.append(element) }
    }
    return ServerValue(encoded: encoded)
  }
}
