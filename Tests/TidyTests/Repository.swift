import Foundation

/// The source and text files of a repository, without build products.
struct Repository: Sendable {
  let root: URL
  let files: [SourceFile]
  let paths: Set<String>

  /// The repository that contains this file.
  static let this = Repository(
    root: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent())

  init(root: URL) {
    let paths = Self.paths(under: root)
    self.root = root
    self.paths = Set(paths)
    files = paths.compactMap { path in
      guard let data = FileManager.default.contents(atPath: root.appendingPathComponent(path).path),
        data.count < 1 << 20, !data.contains(0), let text = String(data: data, encoding: .utf8)
      else { return nil }  // not text
      return SourceFile(path: path, text: text)
    }
  }

  func file(_ path: String) -> SourceFile? { files.first { $0.path == path } }

  private static func paths(under root: URL) -> [String] {
    var found: [String] = []
    var folders = [""]
    while let folder = folders.popLast() {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)) ?? []
      for name in names.sorted() where !isBuilt(name) {
        let path = folder.isEmpty ? name : folder + "/" + name
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path, isDirectory: &isFolder)
        if isFolder.boolValue { folders.append(path) } else { found.append(path) }
      }
    }
    return found.sorted()
  }

  private static func isBuilt(_ name: String) -> Bool {
    [".git", ".swiftpm", ".docs", "Package.resolved"].contains(name) || name.hasPrefix(".build")
  }
}
