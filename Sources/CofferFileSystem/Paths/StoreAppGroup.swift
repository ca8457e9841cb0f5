import CofferCore
public import Foundation

/// The directories shared by the applications of an app group.
///
/// ```swift
/// let shared = try StoreAppGroup.container("group.com.example.shop")
/// ```
public enum StoreAppGroup {
  /// Returns the directory that the applications of a group share, creating it if it is missing.
  ///
  /// On Apple platforms it is the container of the group, which requires an entitlement. Elsewhere it is
  /// `$XDG_DATA_HOME/<group>`, by default `~/.local/share/<group>`, which only this user can read; membership in the
  /// group is not checked.
  /// - Parameter identifier: up to 128 letters, digits, `.`, `_` and `-`; the first is not a dot.
  /// - Throws: `StorageError` with code `unsupported` for an invalid identifier, `permissionDenied` if the path is a
  ///   symbolic link or belongs to another user, `unavailable` if the system does not specify the directory.
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
    /// Checks that the container, which holds secrets, is a directory of this user and not a symbolic link.
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
