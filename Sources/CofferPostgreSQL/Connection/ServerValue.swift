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

  static func bytesArray(_ values: [Data?]) -> ServerValue {
    array(
      values, of: .bytes, size: \.count,
      write: { value, target in value.withUnsafeBytes { target.copyMemory(from: $0) } })
  }

  static func int8Array(_ values: [Int64?]) -> ServerValue {
    array(
      values, of: .int8, size: { _ in 8 },
      write: { value, target in withUnsafeBytes(of: value.bigEndian) { target.copyMemory(from: $0) } })
  }

  /// Returns an array: the number of dimensions, whether there are NULLs and the type of the elements; then, unless it
  /// is empty, its size and lower bound, and each element behind its size.
  private static func array<Element>(
    _ elements: [Element?], of type: ServerType, size: (Element) -> Int,
    write: (Element, UnsafeMutableRawBufferPointer) -> Void
  ) -> ServerValue {
    let head = elements.isEmpty ? [] : [UInt32(clamping: elements.count), 1]
    let numbers = [elements.isEmpty ? 0 : 1, elements.contains { $0 == nil } ? 1 : 0, type.rawValue] + head
    // Filled in place: the columns of a batch have 10,000 elements.
    var encoded = Data(count: elements.reduce(numbers.count * 4) { $0 + 4 + ($1.map(size) ?? 0) })
    encoded.withUnsafeMutableBytes { bytes in
      var offset = 0
      func put(_ count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        fill(UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + count]))
        offset += count
      }
      func put(_ number: UInt32) {
        put(4) { target in withUnsafeBytes(of: number.bigEndian) { target.copyMemory(from: $0) } }
      }
      for number in numbers { put(number) }
      for element in elements {
        put(UInt32(bitPattern: Int32(clamping: element.map(size) ?? -1)))
        if let element { put(size(element)) { write(element, $0) } }
      }
    }
    return ServerValue(encoded: encoded)
  }
}
