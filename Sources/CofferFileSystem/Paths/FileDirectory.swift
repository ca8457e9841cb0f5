import CofferCore
public import Foundation

/// A directory for files: those of document 4, and the one for an application's own data.
///
/// ```swift
/// let exports = try FileDirectory.documents.url().appendingPathComponent("exports")
/// ```
public enum FileDirectory: Hashable, Sendable {
  /// What the user makes and wants to find again: `~/Documents`, or what the system says instead.
  ///
  /// On Linux all applications share it, and so the caches: keep your files in a directory of your own in it.
  case documents
  /// What can be made again and may vanish at any time: `$XDG_CACHE_HOME`, else `~/.cache`, on Linux.
  case caches
  /// What an application keeps for its user, such as its database: `$XDG_DATA_HOME`, else `~/.local/share`, on Linux.
  ///
  /// There all applications share it: append a directory of your own.
  case applicationSupport
  /// A directory of your choice, as a file URL.
  case custom(URL)

  /// Where the directory is. It is not made.
  /// - Throws: `StorageError` with code `unavailable` when the system does not say where it is, and `unsupported` for a
  ///   URL that is not of a file.
  public func url() throws -> URL {
    switch self {
    case .documents: return try SystemDirectories.current.url(for: .documents)
    case .caches: return try SystemDirectories.current.url(for: .caches)
    case .applicationSupport: return try SystemDirectories.current.url(for: .applicationSupport)
    case .custom(let url):
      guard url.isFileURL else {
        throw StorageError(
          .unsupported, "A directory must be a file URL, and this one begins with '\(url.scheme ?? "")'.",
          advice: "Make it with URL(fileURLWithPath:).")
      }
      return url
    }
  }
}
