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
}
