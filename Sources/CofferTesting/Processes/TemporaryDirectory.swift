public import Foundation

/// A new directory for a test, removed when this object is deallocated.
///
/// ```swift
/// let directory = try TemporaryDirectory()
/// let engine = try await SQLiteEngine.open(at: directory.path("notes.db"))
/// ```
public final class TemporaryDirectory: Sendable {
  /// The URL of the directory.
  public let url: URL

  /// Creates the directory, in the system's directory for temporary files.
  /// - Throws: `CocoaError` if it cannot be created.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// Returns the path of a file in the directory, whether or not it exists.
  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
