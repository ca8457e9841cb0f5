package import CofferCore
import Foundation

extension StorageError {
  /// What a failed call on a file means, by the present `errno`.
  package static func file(_ call: String, _ path: String, backend: String) -> StorageError {
    let number = errno
    let cause = FileFailure(number)
    return StorageError(
      cause.code, cause.message, advice: cause.advice, backend: backend,
      underlying: Underlying(
        domain: "errno", code: Int(number), text: "\(call) \(path): \(String(cString: strerror(number)))"))
  }
}

/// What an errno means for the person who reads about it.
private struct FileFailure {
  let code: StorageError.Code
  let message: String
  let advice: String

  init(_ errno: Int32) {
    (code, message, advice) =
      switch errno {
      case ENOSPC, EDQUOT:
        (
          .diskFull, "No space is left on the device.",
          "Nothing was changed and everything stored before is still there. Free some space and try again."
        )
      case EACCES, EPERM, EROFS:
        (
          .permissionDenied, "The file or its directory may not be used: permission denied.",
          "Give this user permission for the directory and its files: reading needs write permission too, for the "
            + "journal in .coffer."
        )
      case EMFILE, ENFILE:
        (
          .inputOutput, "The process has too many files open.",
          "Close some, or raise its limit (ulimit -n). Nothing was changed by this call."
        )
      case ENOENT: (.notFound, "There is no such file or directory.", "Check the path.")
      case ENOTDIR, ELOOP, ENAMETOOLONG:
        (.inputOutput, "The path of the store leads nowhere.", "Check the path. Nothing was changed.")
      case EISDIR, ENOTEMPTY, EEXIST:
        (.notAStore, "There is a directory where the value's file should be.", "Move it away.")
      default:
        (.inputOutput, "The file could not be read or written.", "Check the device and the file system.")
      }
  }
}
