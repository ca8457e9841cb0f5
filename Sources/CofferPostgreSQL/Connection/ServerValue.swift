import Foundation

/// The type of a parameter, with its number in the catalogue `pg_type`.
enum ServerType: UInt32, Sendable {
  case bool = 16
  case bytes = 17
  case int8 = 20
  case text = 25
  case bytesArray = 1001
  case textArray = 1009
  case int8Array = 1016
  case uuid = 2950
}

/// The value of a parameter, which is sent in binary form.
///
/// A text must not contain U+0000, which the server refuses.
enum ServerValue: Sendable {
  case null
  case bool(Bool)
  case bytes(Data)
  case int8(Int64)
  case text(String)
  case uuid(UUID)
  case bytesArray([Data?])
  case textArray([String?])
  case int8Array([Int64?])

  /// The size of the binary form in bytes.
  var encodedSize: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .bytes(let value): value.count
    case .int8: 8
    case .text(let value): value.utf8.count
    case .uuid: 16
    case .bytesArray(let values): Self.arraySize(values.lazy.map { $0?.count ?? 0 })
    case .textArray(let values): Self.arraySize(values.lazy.map { $0?.utf8.count ?? 0 })
    case .int8Array(let values): Self.arraySize(values.lazy.map { $0 == nil ? 0 : 8 })
    }
  }

  private static func arraySize(_ sizes: some Collection<Int>) -> Int {
    // The number of dimensions, whether there are NULLs and the type of the elements; then, unless the array is empty,
    // its size and lower bound, and each element behind its size.
    sizes.isEmpty ? 12 : 20 + sizes.reduce(0) { $0 + 4 + $1 }
  }

  /// Writes the binary form.
  func encode(into writer: inout ValueWriter) {
    switch self {
    case .null: break
    case .bool(let value): writer.append(UInt8(value ? 1 : 0))
    case .bytes(let value): writer.append(value)
    case .int8(let value): writer.append(value)
    case .text(let value): writer.append(value)
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { writer.append($0) }
    case .bytesArray(let values):
      Self.encode(values, .bytes, into: &writer) { value, writer in
        writer.append(Int32(value.count))
        writer.append(value)
      }
    case .textArray(let values):
      Self.encode(values, .text, into: &writer) { value, writer in
        writer.append(Int32(value.utf8.count))
        writer.append(value)
      }
    case .int8Array(let values):
      Self.encode(values, .int8, into: &writer) { value, writer in
        writer.append(Int32(8))
        writer.append(value)
      }
    }
  }

  private static func encode<Element>(
    _ values: [Element?], _ type: ServerType, into writer: inout ValueWriter,
    _ element: (Element, inout ValueWriter) -> Void
  ) {
    writer.append(Int32(values.isEmpty ? 0 : 1))
    writer.append(Int32(values.contains { $0 == nil } ? 1 : 0))
    writer.append(type.rawValue)
    guard !values.isEmpty else { return }
    writer.append(Int32(clamping: values.count))
    writer.append(Int32(1))
    for value in values {
      if let value { element(value, &writer) } else { writer.append(Int32(-1)) }
    }
  }
}

/// Writes values one behind the other into memory of the right size.
struct ValueWriter {
  private(set) var rest: UnsafeMutableRawBufferPointer

  init(_ memory: UnsafeMutableRawBufferPointer) { rest = memory }

  mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { append($0) }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    // A text or data that is larger than it was when it was measured cannot exist: both are values.
    let count = min(bytes.count, rest.count)
    rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
    rest = UnsafeMutableRawBufferPointer(rebasing: rest.dropFirst(count))
  }

  mutating func append(_ data: Data) { data.withUnsafeBytes { append($0) } }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }
}
