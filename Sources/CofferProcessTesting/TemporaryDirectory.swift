public import Foundation

/// A directory of a test's own, removed together with its owner.
///
/// ```swift
/// let directory = try TemporaryDirectory()
/// let engine = try await SQLiteEngine.open(at: directory.path("notes.db"))
/// ```
public final class TemporaryDirectory: Sendable {
  /// Where the directory is.
  public let url: URL

  /// Creates the directory, under the system's folder for temporary files.
  /// - Throws: `CocoaError` when it cannot be created.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a file in the directory, whether or not it exists.
  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
