public import Foundation

/// Makes a system library unusable for a ``HelperProcess``: the loader finds an invalid file of its name first.
///
/// ```swift
/// let library = try BrokenLibrary("libsecret-1.so.0")
/// let helper = try HelperProcess(["save"], executable: "MyTestHelper", environment: [library.environment])
/// ```
public final class BrokenLibrary {
  private let folder: TemporaryDirectory

  /// Writes the file that the loader finds.
  /// - Parameters:
  ///   - name: such as `libgio-2.0.so.0`.
  ///   - content: what the file holds; another library's bytes make one that lacks everything.
  public init(_ name: String, _ content: Data = Data("no library".utf8)) throws {
    folder = try TemporaryDirectory()
    try content.write(to: folder.url.appendingPathComponent(name))
  }

  /// What a helper process needs to find it.
  public var environment: (String, String) {
    let before = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":" + $0 } ?? ""
    return ("LD_LIBRARY_PATH", folder.url.path + before)
  }
}
