import CofferCore
import CofferFileSystem
import CofferFiles
public import Foundation

extension FileManager.Path {
  /// Returns whether the path is a directory. Symbolic links are followed.
  /// - Throws: ``SwiftVaultError/fileDoesNotExist(path:)`` when nothing exists at the path.
  public func isDirectory() throws -> Bool { try status(of: filePath()).st_mode & S_IFMT == S_IFDIR }

  /// Creates the directory and its missing ancestors, with mode 0700.
  /// - Throws: ``SwiftVaultError/couldNotCreateDirectory(path:underlyingError:)``, also when the path is a file.
  public func createDirectoryIfNeeded() throws { try makeDirectory(filePath()) }

  /// Replaces the file atomically, and creates its missing parent directories.
  ///
  /// When it returns, the bytes survive power loss; when it throws, the old bytes are unchanged. A new file has mode
  /// 0600, an existing one keeps its mode. A symbolic link at the path is replaced, and its target is not written. A
  /// process that is killed during the call may leave a file whose name begins with `.coffer-`.
  /// - Throws: ``SwiftVaultError/couldNotSaveFile(path:underlyingError:)``,
  ///   ``SwiftVaultError/couldNotCreateDirectory(path:underlyingError:)``.
  public func save(data: Data) throws {
    let path = try filePath()
    let parts = PathParts(path)
    try makeDirectory(parts.parent)
    do {
      try OpenDirectory(parts.parent).replace(parts.last, with: data)
    } catch {
      throw SwiftVaultError.couldNotSaveFile(path: path, underlyingError: error)
    }
  }

  /// Returns the contents of the file.
  /// - Throws: ``SwiftVaultError/fileDoesNotExist(path:)`` only when it is proven absent,
  ///   ``SwiftVaultError/couldNotReadFile(path:underlyingError:)`` for all other failures.
  public func read() throws -> Data {
    let path = try filePath()
    _ = try status(of: path)
    do {
      return try Data(contentsOf: URL(fileURLWithPath: path, isDirectory: false))
    } catch {
      throw SwiftVaultError.couldNotReadFile(path: path, underlyingError: error)
    }
  }

  /// Removes the file, or the directory and everything in it. A symbolic link is removed, and its target is kept.
  /// - Throws: ``SwiftVaultError/fileDoesNotExist(path:)`` when nothing exists at the path,
  ///   ``SwiftVaultError/couldNotDeleteFile(path:underlyingError:)`` when it or a part of it remains.
  public func delete() throws {
    let path = try filePath()
    var status = stat()
    guard lstat(path, &status) == 0 else {
      throw Self.failure("lstat", path) { .couldNotDeleteFile(path: path, underlyingError: $0) }
    }
    do {
      try FileManager.default.removeItem(atPath: path)
      try OpenDirectory.sync(PathParts(path).parent)
    } catch {
      throw SwiftVaultError.couldNotDeleteFile(path: path, underlyingError: error)
    }
  }

  private func makeDirectory(_ path: String) throws {
    do {
      try OpenDirectory.make(path)
    } catch {
      throw SwiftVaultError.couldNotCreateDirectory(path: path, underlyingError: error)
    }
  }

  private func status(of path: String) throws -> stat {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw Self.failure("stat", path) { .couldNotReadFile(path: path, underlyingError: $0) }
    }
    return status
  }

  /// Translates the `errno` of a failed `stat` or `lstat` call.
  private static func failure(
    _ call: String, _ path: String, else other: (StorageError) -> SwiftVaultError
  ) -> SwiftVaultError {
    let code = errno
    // ENOTDIR: an ancestor is a file, so nothing can exist below it.
    if code == ENOENT || code == ENOTDIR { return .fileDoesNotExist(path: path) }
    return other(.fileSystem(call, path: path, errno: code))
  }
}

extension FileManager {
  /// Returns whether a file or directory exists at a URL; `false` if it is not a file URL.
  public func fileExists(at url: URL) -> Bool {
    guard let path = try? Path.url(url).filePath() else { return false }
    return fileExists(atPath: path)
  }

  /// Removes the application's own folder, with everything in it, from the user's documents, cache and application
  /// support directories, and nothing else.
  ///
  /// The three directories themselves belong to the application only on iOS. On Linux and macOS all applications share
  /// them (`~/Documents`, `~/.local/share`), and emptying them would destroy the user's data. Only the folder in each
  /// that is named after the application's bundle identifier is removed, including the vaults in it. A program without
  /// a bundle identifier uses its process name; the user's documents are not touched then, since a folder there with
  /// such a plain name may belong to the user.
  ///
  /// A folder that is a symbolic link is removed, and its target is kept. All folders are tried before an error is
  /// thrown.
  /// - Throws: ``SwiftVaultError/couldNotDeleteFile(path:underlyingError:)``,
  ///   ``SwiftVaultError/unsupportedOperation(description:)`` when the application's name is not a valid folder name.
  public func clearApplicationDirectories() throws {
    let system = SystemDirectories.current
    let name = system.bundleIdentifier ?? system.processName
    guard PathParts(name).names == [name], !name.hasPrefix(".") else {
      throw SwiftVaultError.unsupportedOperation(
        description: "the application's name, '\(name.escapingControlCharacters)', is not a valid folder name")
    }
    var paths: [Path] = [.cache(name), .applicationSupport(name)]
    if system.bundleIdentifier != nil { paths.append(.document(name)) }
    var failures: [any Error] = []
    for path in paths {
      do { try path.delete() } catch SwiftVaultError.fileDoesNotExist {} catch { failures.append(error) }
    }
    if let first = failures.first { throw first }
  }
}
