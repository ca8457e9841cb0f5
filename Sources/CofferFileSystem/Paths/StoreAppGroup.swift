import CofferCore
public import Foundation

/// Applications of one user that share files.
///
/// ```swift
/// let shared = try StoreAppGroup.container("group.com.example.shop")
/// ```
public enum StoreAppGroup {
  /// The directory that the applications of a group share; it is made if it is missing.
  ///
  /// On Apple systems it is the group's container, which needs an entitlement. Elsewhere it is
  /// `$XDG_DATA_HOME/<group>`, by default `~/.local/share/<group>`, which only this user may read; there, nobody checks
  /// who belongs to the group.
  /// - Parameter identifier: up to 128 letters, digits, `.`, `_` and `-`; the first is not a dot.
  /// - Throws: `StorageError` with code `unsupported` when the identifier cannot be one, `permissionDenied` when there
  ///   is something in the container's place that others control, `unavailable` when the system does not say where its
  ///   place is.
  public static func container(_ identifier: String) throws -> URL {
    guard PathParts.isPlain(identifier) else {
      throw StorageError(
        .unsupported, "'\(identifier.escapingControlCharacters)' cannot be the identifier of an app group.",
        advice: "Use up to 128 letters, digits, '.', '_' and '-', the first not a dot: group.com.example.shop")
    }
    #if canImport(Darwin)
      let manager = FileManager.default
      guard let url = manager.containerURL(forSecurityApplicationGroupIdentifier: identifier) else {
        throw StorageError(
          .unavailable, "There is no container for the app group '\(identifier)'.",
          advice: "Add the group to the entitlements of this application.")
      }
      return url
    #else
      let url = try SystemDirectories.current.url(for: .applicationSupport)
        .appendingPathComponent(identifier, isDirectory: true)
      try OpenDirectory.make(url.path)
      try checkOwner(url.path, identifier)
      return url
    #endif
  }

  #if !canImport(Darwin)
    /// Secrets go into the container, so it must be this user's own directory and no way to another one.
    private static func checkOwner(_ path: String, _ identifier: String) throws(StorageError) {
      var status = stat()
      guard lstat(path, &status) == 0 else { throw .fileSystem("lstat", path: path, errno: errno) }
      let flaw: String
      switch status.st_mode & S_IFMT {
      case S_IFLNK: flaw = "is a symbolic link"
      case S_IFDIR where status.st_uid == geteuid(): return
      case S_IFDIR: flaw = "belongs to another user"
      default: flaw = "is not a directory"
      }
      throw StorageError(
        .permissionDenied, "The container of the app group '\(identifier)' \(flaw).",
        advice: "Move \(path.escapingControlCharacters) away, or set XDG_DATA_HOME. Nothing was changed.")
    }
  #endif
}
