import Foundation

/// The reasons why the system denies this user access to a file or directory.
package enum WriteRefusal {
  /// Returns the reason as the end of a sentence, or `nil` if access is granted or fails for another reason.
  /// - Parameters:
  ///   - path: The file or directory.
  ///   - rights: The mode to check, as for `access(2)`.
  ///   - what: A phrase for the file or directory, for the message.
  package static func reason(_ path: String, _ rights: Int32, _ what: String) -> String? {
    guard faccessat(AT_FDCWD, path, rights, AT_EACCESS) != 0 else { return nil }
    return switch errno {
    case EROFS: "its file system is mounted read-only."
    case EACCES, EPERM: "this user may not write \(what)."
    default: nil
    }
  }
}
