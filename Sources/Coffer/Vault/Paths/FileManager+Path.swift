import CofferCore
import CofferFileSystem
import CofferFiles
public import Foundation

extension FileManager {
  /// A place for a file or a directory (document 0).
  ///
  /// ```swift
  /// let notes = FileManager.Path.applicationSupport("com.example.shop/notes.json")
  /// try notes.save(data: data)
  /// ```
  ///
  /// The names of the first three cases are relative to a directory of the system and stay inside it: `../x`, an
  /// absolute path, an empty name and one with a NUL byte are refused by everything that is asked of them. On Linux
  /// these directories belong to all applications of the user, so begin the name with a folder of your own.
  ///
  /// All methods throw ``SwiftVaultError``.
  public enum Path: Sendable, Hashable {
    /// In the user's documents.
    case document(String)
    /// In the user's caches: on Linux `$XDG_CACHE_HOME`, by default `~/.cache`.
    case cache(String)
    /// In the directory for what applications keep: on Linux `$XDG_DATA_HOME`, by default `~/.local/share`.
    case applicationSupport(String)
    /// An absolute path.
    case custom(String)
    /// A file URL.
    case url(URL)

    /// Where it is; nothing needs to be there.
    /// - Throws: ``SwiftVaultError/unsupportedOperation(description:)`` for a name that would lead elsewhere,
    ///   ``SwiftVaultError/couldNotLocateSystemDirectory(directoryName:)`` when the system does not say where its
    ///   directory is.
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

    /// The last part of the path.
    public func fileName() throws -> String { try url().lastPathComponent }

    /// The directory that it is in.
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
  /// The path for the system's calls.
  func filePath() throws -> String {
    let url = try url()
    let text = url.absoluteString
    guard url.isFileURL else { throw Self.refusal(text, "is not the URL of a file") }
    guard ["", "localhost"].contains(url.host ?? "") else { throw Self.refusal(text, "is on another machine") }
    // `URL.path` keeps escapes that stand for no character or for NUL, and so would be another file's path.
    let decoded = url.absoluteURL.path(percentEncoded: true).removingPercentEncoding ?? ""
    let parts = PathParts(decoded)
    guard parts.isAbsolute, !decoded.utf8.contains(0) else { throw Self.refusal(text, "is not the path of a file") }
    // Without a slash at its end, which would have the system follow a link.
    return "/" + parts.names.joined(separator: "/")
  }
}
