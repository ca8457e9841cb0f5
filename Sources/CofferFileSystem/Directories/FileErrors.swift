package import CofferCore
import Foundation

extension StorageError {
  /// Translates the `errno` of a failed call on a file or directory.
  package static func fileSystem(
    _ call: String, path: String, errno code: Int32, location: String = ""
  ) -> StorageError {
    let cause = FileFailure(code, path)
    let text = "\(call) \(path.escapingControlCharacters): \(String(cString: strerror(code)))"
    return StorageError(
      cause.code, cause.message, advice: cause.advice, location: location,
      underlying: Underlying(domain: "errno", code: Int(code), text: text))
  }
}

/// The error code, message and advice for an `errno`.
private struct FileFailure {
  let code: StorageError.Code
  let message: String
  let advice: String

  private init(_ code: StorageError.Code, _ message: String, _ advice: String) {
    self.code = code
    self.message = message
    self.advice = advice
  }

  init(_ code: Int32, _ path: String) {
    switch code {
    case ENOSPC, EDQUOT:
      self.init(
        .diskFull, "No space is left on the device.",
        "What was stored before is still there. Free some space and try again.")
    case EACCES, EPERM, EROFS:
      self.init(
        .permissionDenied, "The operating system refuses access.",
        "Give this user the right to read and write the file's directory. Nothing was changed.")
    case ENOENT: self.init(.notFound, "There is no such file or directory.", "Check the path.")
    case EISDIR: self.init(.inputOutput, "There is a directory where a file should be.", "Give the path of a file.")
    case ENOTDIR:
      let file = Self.fileInTheWay(of: path).map { ": \($0.escapingControlCharacters)" } ?? ""
      self.init(
        .inputOutput, "There is a file where a directory should be\(file).", "Check the path. Nothing was changed.")
    case EMFILE, ENFILE:
      self.init(
        .inputOutput, "The process has too many files open.",
        "Close some, or raise its limit (ulimit -n). Nothing was changed.")
    case EFBIG:
      self.init(
        .inputOutput, "The file would become larger than this process or the file system allows.",
        "What was stored before is still there. Raise the limit of the process (ulimit -f), or move the store.")
    case ELOOP, ENAMETOOLONG:
      self.init(.inputOutput, "The path leads nowhere.", "Check the path. Nothing was changed.")
    default:
      self.init(
        .inputOutput, "The file could not be read or written.", "Check the device and the file system.")
    }
  }

  /// Returns the first part of a path that exists and is not a directory.
  private static func fileInTheWay(of path: String) -> String? {
    var ancestor = PathParts(path).isAbsolute ? "" : "."
    for name in PathParts(path).names {
      ancestor += "/" + name
      var status = stat()
      guard stat(ancestor, &status) == 0 else { return nil }
      if status.st_mode & S_IFMT != S_IFDIR { return ancestor }
    }
    return nil
  }
}
