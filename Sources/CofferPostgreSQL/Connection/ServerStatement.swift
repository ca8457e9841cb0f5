import Foundation

/// A statement with the types of its parameters.
///
/// Each connection prepares it at its first use, in the same round trip. Make constants of them: two statements are
/// equal if their texts and types are, and the server keeps each text that was prepared as long as the connection
/// lives.
final class ServerStatement: Hashable, Sendable {
  let text: String
  let types: [ServerType]
  /// Whether the statement is prepared under a name. The preparation precedes the whole exchange, so that a statement
  /// on a table that the same exchange creates must not be prepared.
  let isPrepared: Bool
  private let hash: Int

  init(_ text: String, _ types: [ServerType] = [], isPrepared: Bool = true) {
    (self.text, self.types, self.isPrepared) = (text, types, isPrepared)
    var hasher = Hasher()
    hasher.combine(text)
    hasher.combine(types)
    hash = hasher.finalize()
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  static func == (left: ServerStatement, right: ServerStatement) -> Bool {
    left === right || left.text == right.text && left.types == right.types && left.isPrepared == right.isPrepared
  }
}

/// A statement with the values of its parameters.
struct ServerCall: Sendable {
  let statement: ServerStatement
  let values: [ServerValue]

  /// Creates a call.
  /// - Parameter values: as many as the statement has types; the server refuses any other number.
  init(_ statement: ServerStatement, _ values: [ServerValue] = []) {
    (self.statement, self.values) = (statement, values)
  }

  /// The size of the parameters in bytes.
  var size: Int { values.reduce(0) { $0 + ($1.encoded?.count ?? 0) } }

  /// Whether there is a value for each parameter, of a size that the protocol can express.
  var isValid: Bool {
    values.count == statement.types.count && values.allSatisfy { $0.encoded?.count ?? 0 <= Int(Int32.max) }
  }

  /// Calls `body` with the parameters where they are, as libpq takes them: their addresses, sizes and formats, valid
  /// only during the call.
  func withParameters(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Bool
  ) -> Bool {
    withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: values.count) { addresses in
      withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * values.count) { numbers in
        // An empty value needs an address, since a missing one is NULL.
        withUnsafePointer(to: CChar(0)) { empty in
          numbers.initialize(repeating: 1)
          return lend(0, addresses, numbers, empty) {
            body(
              UnsafePointer(addresses.baseAddress), UnsafePointer(numbers.baseAddress),
              numbers.baseAddress.map { UnsafePointer($0 + values.count) })
          }
        }
      }
    }
  }

  /// Writes the address and the size of each parameter from `index` on, then calls `body`: short data has an address
  /// only while it is lent.
  private func lend(
    _ index: Int, _ addresses: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>,
    _ sizes: UnsafeMutableBufferPointer<Int32>, _ empty: UnsafePointer<CChar>, _ body: () -> Bool
  ) -> Bool {
    guard index < values.count else { return body() }
    guard let encoded = values[index].encoded else {
      addresses.initializeElement(at: index, to: nil)
      sizes[index] = 0
      return lend(index + 1, addresses, sizes, empty, body)
    }
    return encoded.withUnsafeBytes { bytes in
      addresses.initializeElement(at: index, to: bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty)
      sizes[index] = Int32(clamping: bytes.count)
      return lend(index + 1, addresses, sizes, empty, body)
    }
  }
}
