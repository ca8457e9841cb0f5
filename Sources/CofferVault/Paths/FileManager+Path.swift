import CofferCore
import CofferFileSystem
import CofferFiles
public import Foundation

extension FileManager {
  /// The path of a file or a directory.
  ///
  /// ```swift
  /// let notes = FileManager.Path.applicationSupport("com.example.shop/notes.json")
  /// try notes.save(data: data)
  /// ```
  ///
  /// The names of the first three cases are relative to a system directory and cannot leave it: every method refuses
  /// `../x`, an absolute path, an empty name and a name with a NUL byte. On Linux all applications of the user share
  /// these directories, so begin the name with a folder that belongs to your application.
  ///
  /// All methods throw ``SwiftVaultError``.
  public enum Path: Sendable, Hashable {
    /// A path in the user's documents directory.
    case document(String)
    /// A path in the user's cache directory: on Linux `$XDG_CACHE_HOME`, by default `~/.cache`.
    case cache(String)
    /// A path in the directory for application data: on Linux `$XDG_DATA_HOME`, by default `~/.local/share`.
    case applicationSupport(String)
    /// An absolute path.
    case custom(String)
    /// A file URL.
    case url(URL)

    /// Returns the URL of the path, which need not exist.
    /// - Throws: ``SwiftVaultError/unsupportedOperation(description:)`` for a name that would leave its directory,
    ///   ``SwiftVaultError/couldNotLocateSystemDirectory(directoryName:)`` when the system directory cannot be located.
    public func url() throws -> URL {
      switch self {
      case .document(let name): return try Self.url(of: name, in: .documents)
      case .cache(let name): return try Self.url(of: name, in: .caches)
      case .applicationSupport(let name): return try Self.url(of: name, in: .applicationSupport)
      case .custom(let path):
        guard PathParts(path).isAbsolute else { throw Self.refusal(path, "is not an absolute path") }
        guard !path.utf8.contains(0) else { throw Self.refusal(path, "contains a NUL byte") }
        return URL(fileURLWithPath: path)
      case .url(let url): return url
      }
    }

    /// Returns the last component of the path.
    public func fileName() throws -> String { try url().lastPathComponent }

    /// Returns the URL of the parent directory.
    public func parentDirectoryURL() throws -> URL { try url().deletingLastPathComponent() }

    private static func url(of name: String, in purpose: SystemDirectories.Purpose) throws -> URL {
      let parts = PathParts(name)
      guard !parts.isAbsolute else { throw refusal(name, "is not a relative path") }
      guard !name.utf8.contains(0) else { throw refusal(name, "contains a NUL byte") }
      guard !parts.names.contains("..") else { throw refusal(name, "leads out of its directory") }
      guard parts.names.contains(where: { $0 != "." }) else { throw refusal(name, "names nothing in its directory") }
      do {
        return try SystemDirectories.current.url(for: purpose).appendingPathComponent(name)
      } catch {
        throw SwiftVaultError.couldNotLocateSystemDirectory(directoryName: purpose.rawValue)
      }
    }

    fileprivate static func refusal(_ text: String, _ flaw: String) -> SwiftVaultError {
      .unsupportedOperation(description: "'\(text.escapingControlCharacters)' \(flaw)")
    }
  }
}

extension FileManager.Path {
  /// Returns the absolute path for system calls.
  func filePath() throws -> String {
    let url = try url()
    let text = url.absoluteString
    guard url.isFileURL else { throw Self.refusal(text, "is not the URL of a file") }
    guard ["", "localhost"].contains(url.host ?? "") else { throw Self.refusal(text, "is on another machine") }
    // `URL.path` keeps escapes of invalid characters and of NUL, and so would be the path of another file.
    let decoded = url.absoluteURL.path(percentEncoded: true).removingPercentEncoding ?? ""
    let parts = PathParts(decoded)
    guard parts.isAbsolute, !decoded.utf8.contains(0) else { throw Self.refusal(text, "is not the path of a file") }
    // No trailing slash: the system would follow a symbolic link.
    return "/" + parts.names.joined(separator: "/")
  }
}
