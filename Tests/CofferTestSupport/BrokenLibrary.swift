import CofferTesting
package import Foundation

/// A file that makes a system library unusable for a ``HelperProcess``: the loader finds it first under the same name.
///
/// ```swift
/// let library = try BrokenLibrary("libsecret-1.so.0")
/// let helper = try HelperProcess(["save"], executable: "MyTestHelper", environment: [library.environment])
/// ```
package final class BrokenLibrary {
  private let folder: TemporaryDirectory

  /// Writes the file that the loader finds.
  /// - Parameters:
  ///   - name: the file name of the library, such as `libgio-2.0.so.0`.
  ///   - content: the contents of the file; those of another library make one that lacks every function.
  package init(_ name: String, _ content: Data = Data("no library".utf8)) throws {
    folder = try TemporaryDirectory()
    try content.write(to: folder.url.appendingPathComponent(name))
  }

  /// The environment variable with which a helper process loads this file.
  package var environment: (String, String) {
    let before = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":" + $0 } ?? ""
    return ("LD_LIBRARY_PATH", folder.url.path + before)
  }
}
