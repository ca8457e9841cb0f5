import CofferCore
package import Foundation

extension URL {
  /// The path of a file URL.
  /// - Throws: `StorageError` with code `inputOutput` for the URL of anything else, such as a web address.
  package func filePath() throws -> String {
    guard isFileURL else {
      throw StorageError(
        .inputOutput, "'\(absoluteString.escapingControlCharacters)' is not the URL of a file.",
        advice: "Create it with URL(fileURLWithPath:). Nothing was read or written.")
    }
    return path
  }

  /// The file URL of a path.
  /// - Throws: `StorageError` with code `inputOutput` for a path that is empty or contains a NUL byte, of which
  ///   `URL(fileURLWithPath:)` would make another path.
  package static func file(atPath path: String, isDirectory: Bool = false) throws -> URL {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StorageError(
        .inputOutput, "The path of the store is empty or contains a NUL byte.",
        advice: "Pass the path of a \(isDirectory ? "directory" : "file"). Nothing was read or written.")
    }
    return URL(fileURLWithPath: path, isDirectory: isDirectory)
  }
}
