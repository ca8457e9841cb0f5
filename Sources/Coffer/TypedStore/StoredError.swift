package import CofferCore

package enum StoredError {
  /// Converts any error to a `StorageError`, without its text, which may quote the value.
  package static func storage(_ error: any Error) -> StorageError {
    error as? StorageError
      ?? StorageError(
        .inputOutput, "The value could not be read or written.",
        underlying: .init(domain: String(reflecting: type(of: error)), code: 0, text: ""))
  }
}
