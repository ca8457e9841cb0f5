import CofferCore
public import Foundation

/// A directory for an application's files: a standard directory of the system or one of your choice.
///
/// ```swift
/// let exports = try FileDirectory.documents.url().appendingPathComponent("exports")
/// ```
public enum FileDirectory: Hashable, Sendable {
  /// The directory for the user's documents: `~/Documents` unless the system specifies another.
  ///
  /// On Linux `$XDG_DOCUMENTS_DIR`, the directory that `user-dirs.dirs` in `$XDG_CONFIG_HOME` (`~/.config`) names, or
  /// `$HOME/Documents`; without HOME those of the account. All applications share this directory and ``caches``: append
  /// a subdirectory for your application.
  case documents
  /// The directory for files that can be recreated and may be deleted at any time: on Linux `$XDG_CACHE_HOME`, by
  /// default `~/.cache`.
  case caches
  /// The directory for an application's data, such as its database: on Linux `$XDG_DATA_HOME`, by default
  /// `~/.local/share`.
  ///
  /// On Linux all applications share it: append a subdirectory for your application.
  case applicationSupport
  /// A directory of your choice, as a file URL.
  case custom(URL)

  /// Returns the URL of the directory. Does not create it.
  /// - Throws: `StorageError` with code `unavailable` if the system does not specify the directory, and `unsupported`
  ///   if a custom URL is not a file URL.
  public func url() throws -> URL {
    switch self {
    case .documents: return try SystemDirectories.current.url(for: .documents)
    case .caches: return try SystemDirectories.current.url(for: .caches)
    case .applicationSupport: return try SystemDirectories.current.url(for: .applicationSupport)
    case .custom(let url):
      guard url.isFileURL else {
        throw StorageError(
          .unsupported, "A directory must be a file URL, and this one begins with '\(url.scheme ?? "")'.",
          advice: "Create it with URL(fileURLWithPath:).")
      }
      return url
    }
  }
}
