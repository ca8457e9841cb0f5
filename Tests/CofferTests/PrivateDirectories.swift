import CofferFileSystem
import CofferFiles
import CofferVault
import Foundation
import Testing

/// Temporary system directories for a test, which are removed when the object is released.
final class PrivateDirectories: Sendable {
  let root: URL

  init() throws {
    root = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-paths-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: root) }

  var applicationSupport: URL { root.appendingPathComponent(".local/share") }

  func path(_ name: String) -> String { root.appendingPathComponent(name).path }

  /// Runs `body` with these directories instead of the user's.
  @discardableResult
  func use<R>(bundleIdentifier: String? = nil, processName: String = "shop", _ body: () throws -> R) throws -> R {
    let root = root.path
    let system = SystemDirectories(bundleIdentifier: bundleIdentifier, processName: processName) { name in
      switch name {
      case "HOME": root
      case "XDG_DOCUMENTS_DIR": root + "/Documents"
      default: nil
      }
    }
    return try SystemDirectories.$current.withValue(system, operation: body)
  }

  /// Returns the paths of all files and directories, at any depth.
  func contents() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted() }
}

/// Returns the permissions of the file at a path, without following a symbolic link.
func mode(_ path: String) -> mode_t? {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
