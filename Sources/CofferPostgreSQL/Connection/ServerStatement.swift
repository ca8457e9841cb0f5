import Foundation

/// A statement with the types of its parameters.
///
/// Each connection prepares it at its first use, in the same round trip. Make constants of them: two statements are
/// equal if their texts and types are, and the server keeps each text that was prepared as long as the connection
/// lives.
struct ServerStatement: Hashable, Sendable {
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

  /// Calls `body` with the parameters where they are, as libpq takes them: their addresses and sizes, valid only during
  /// the call.
  func withParameters<R>(_ body: (_ values: [UnsafePointer<CChar>?], _ sizes: [Int32]) -> R) -> R {
    // An empty value needs an address, since a missing one is NULL.
    withUnsafePointer(to: CChar(0)) { empty in
      var (pointers, sizes): ([UnsafePointer<CChar>?], [Int32]) = ([], [])
      func add(_ rest: ArraySlice<ServerValue>) -> R {
        guard let value = rest.first else { return body(pointers, sizes) }
        sizes.append(Int32(clamping: value.encoded?.count ?? 0))
        guard let encoded = value.encoded else {
          pointers.append(nil)
          return add(rest.dropFirst())
        }
        return encoded.withUnsafeBytes { bytes in
          pointers.append(bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty)
          return add(rest.dropFirst())
        }
      }
      return add(values[...])
    }
  }
}
