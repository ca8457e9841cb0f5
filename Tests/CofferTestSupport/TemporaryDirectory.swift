package import Foundation

/// A directory that goes away with its owner.
package final class TemporaryDirectory: Sendable {
  package let url: URL
  package init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
