import Coffer
import CofferTerminal

extension Invocation {
  /// Returns every operand as a key.
  /// - Throws: `CommandError` when an operand is no valid key.
  func keys() throws -> [KeyName] { try operands.indices.compactMap { try text(at: $0, as: "The KEY").map(makeKey) } }

  /// Returns every operand as the location of a store.
  /// - Throws: `CommandError` when an operand is empty or no valid location.
  func locations(directoriesAreStores: Bool = false) throws -> [StoreLocation] {
    try operands.indices.compactMap { index in
      guard let text = try text(at: index) else { return nil }
      guard !text.isEmpty else {
        throw Command.mistake("\(operandName(at: index)) is empty: \(command.usage).", command)
      }
      if directoriesAreStores, let files = StoreLocation(directoryAt: text) { return files }
      return try StoreLocation(parsing: text)
    }
  }

  /// Returns the operand as a prefix, or `nil` when it is missing or empty.
  func prefix() throws -> KeyName? {
    if let operand = operands.first, operand.bytes.isEmpty { return nil }
    return try keys().first
  }

  /// Returns a key. An invalid key is a usage error, since it was typed on the command line.
  func makeKey(_ text: String) throws -> KeyName {
    do { return try KeyName(text) } catch let error as StorageError {
      throw Command.mistake(error.description, command)
    }
  }
}
