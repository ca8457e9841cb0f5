import CofferCore
import CofferFileSystem
import CofferFiles
public import Foundation

extension FileManager.Path {
  /// Whether there is a directory. A symbolic link is what it leads to.
  /// - Throws: ``SwiftVaultError/fileDoesNotExist(path:)`` when there is nothing.
  public func isDirectory() throws -> Bool { try status(of: filePath()).st_mode & S_IFMT == S_IFDIR }

  /// Makes the directory and those above it where they are missing; new ones are for this user alone (0700).
  /// - Throws: ``SwiftVaultError/couldNotCreateDirectory(path:underlyingError:)``, also when there is a file.
  public func createDirectoryIfNeeded() throws { try makeDirectory(filePath()) }

  /// Writes a file as a whole, and the directories above it where they are missing.
  ///
  /// When it returns, the bytes survive power loss; when it throws, the old bytes are still there. A new file is for
  /// this user alone (0600), an old one keeps its rights. A symbolic link in the file's place is replaced itself:
  /// nothing is written to where it leads. A process that is killed in the middle may leave a file behind whose name
  /// begins with `.coffer-`.
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

  /// The bytes of the file.
  /// - Throws: ``SwiftVaultError/fileDoesNotExist(path:)`` only when there is none,
  ///   ``SwiftVaultError/couldNotReadFile(path:underlyingError:)`` when that cannot be told.
  public func read() throws -> Data {
    let path = try filePath()
    _ = try status(of: path)
    do {
      return try Data(contentsOf: URL(fileURLWithPath: path, isDirectory: false))
    } catch {
      throw SwiftVaultError.couldNotReadFile(path: path, underlyingError: error)
    }
  }

  /// Removes the file, or the directory and everything in it. A symbolic link is removed itself.
  /// - Throws: ``SwiftVaultError/fileDoesNotExist(path:)`` when there is nothing,
  ///   ``SwiftVaultError/couldNotDeleteFile(path:underlyingError:)`` when it is still there, or a part of it.
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

  /// What the present `errno` of a look at the path means.
  private static func failure(
    _ call: String, _ path: String, else other: (StorageError) -> SwiftVaultError
  ) -> SwiftVaultError {
    let code = errno
    // Below a file there is nothing.
    if code == ENOENT || code == ENOTDIR { return .fileDoesNotExist(path: path) }
    return other(.fileSystem(call, path: path, errno: code))
  }
}

extension FileManager {
  /// Whether a file or directory exists there; `false` for a URL that is not of a file.
  public func fileExists(at url: URL) -> Bool {
    guard let path = try? Path.url(url).filePath() else { return false }
    return fileExists(atPath: path)
  }

  /// Removes this application's own folder from the user's documents, caches and application support, with everything
  /// in it, and nothing else.
  ///
  /// Document 0 empties the three directories themselves, which on iOS belong to the application. On Linux and macOS
  /// they are those of all applications (`~/Documents`, `~/.local/share`): emptying them would destroy what the user
  /// has. So only the folder in each that has the name of the application's bundle identifier goes, and with it the
  /// vaults in it. A program without a bundle identifier goes by its process name, and then the user's documents are
  /// not touched: a folder there with so plain a name may well be the user's own.
  ///
  /// A symbolic link in the folder's place is removed itself; what it leads to stays. All folders are tried before an
  /// error is thrown.
  /// - Throws: ``SwiftVaultError/couldNotDeleteFile(path:underlyingError:)``,
  ///   ``SwiftVaultError/unsupportedOperation(description:)`` when the application has no name that a folder can have.
  public func clearApplicationDirectories() throws {
    let system = SystemDirectories.current
    let name = system.bundleIdentifier ?? system.processName
    guard PathParts(name).names == [name], !name.hasPrefix(".") else {
      throw SwiftVaultError.unsupportedOperation(
        description: "the application's name, '\(name.escapingControlCharacters)', cannot be that of a folder")
    }
    var places: [Path] = [.cache(name), .applicationSupport(name)]
    if system.bundleIdentifier != nil { places.append(.document(name)) }
    var failures: [any Error] = []
    for place in places {
      do { try place.delete() } catch SwiftVaultError.fileDoesNotExist {} catch { failures.append(error) }
    }
    if let first = failures.first { throw first }
  }
}
