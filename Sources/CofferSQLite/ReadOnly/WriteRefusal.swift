import Foundation

/// Why the system does not let this user use a file or directory.
package enum WriteRefusal {
  /// The reason as the end of a sentence; `nil` when there is none.
  /// - Parameters:
  ///   - rights: what is asked for, as for `access(2)`.
  ///   - what: what may not be written, for the message.
  package static func reason(_ path: String, _ rights: Int32, _ what: String) -> String? {
    guard faccessat(AT_FDCWD, path, rights, AT_EACCESS) != 0 else { return nil }
    return switch errno {
    case EROFS: "its file system is mounted read-only."
    case EACCES, EPERM: "this user may not write \(what)."
    default: nil
    }
  }
}
