import Coffer
import CofferTerminal

extension Invocation {
  /// Every operand as a key.
  func keys() throws -> [StoreKey] { try operands.indices.compactMap { try text(at: $0, as: "The KEY").map(makeKey) } }

  /// Every operand as a store's location.
  func locations() throws -> [StoreLocation] {
    try operands.indices.compactMap { index in
      guard let text = try text(at: index) else { return nil }
      guard !text.isEmpty else { throw UsageError("\(operandName(at: index)) is empty: \(command.usage).", command) }
      return try StoreLocation(parsing: text)
    }
  }

  /// The operand as a prefix; `nil` where there is none, or an empty one.
  func prefix() throws -> StoreKey? {
    if let operand = operands.first, operand.argument.bytes.isEmpty { return nil }
    return try keys().first
  }

  /// What is wrong with a key is wrong with the command line.
  func makeKey(_ text: String) throws -> StoreKey {
    do { return try StoreKey(text) } catch let error as StorageError { throw UsageError(error.description, command) }
  }
}
