package import Foundation

/// Makes a library unusable for helper processes: the system's loader finds a file of its name first that is none.
package final class BrokenLibrary {
  private let folder: TemporaryDirectory

  /// - Parameters:
  ///   - name: such as `libgio-2.0.so.0`.
  ///   - content: what the file holds; another library's bytes make one that lacks everything.
  package init(_ name: String, _ content: Data = Data("no library".utf8)) throws {
    folder = try TemporaryDirectory()
    try content.write(to: folder.url.appendingPathComponent(name))
  }

  /// What a helper process needs to find it.
  package var environment: (String, String) {
    let before = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":" + $0 } ?? ""
    return ("LD_LIBRARY_PATH", folder.url.path + before)
  }
}
