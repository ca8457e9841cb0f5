public import CofferFileSystem
import CofferSQLite
public import Foundation

/// Access to files by directory and name, without a declared key.
///
/// A file contains exactly the bytes of its value; names that a file system cannot represent are escaped. Each
/// directory is opened once.
public actor FileStorageHelper {
  /// The shared helper, with the default settings.
  public static let shared = FileStorageHelper()

  private let configuration: StorageConfiguration
  private let origin = StoreOrigin()
  private var engines: [DomainLocation: any StorageEngine] = [:]

  /// Creates a helper.
  /// - Parameter configuration: the settings with which directories are opened.
  public init(configuration: StorageConfiguration = StorageConfiguration()) { self.configuration = configuration }

  /// The directory of files.
  public enum Location: Hashable, Sendable {
    /// A subdirectory of a system directory, named after the application, or a custom directory itself.
    case directory(FileDirectory)
    /// The shared container of an app group; by default that of the configuration.
    case appGroup(String? = nil)

    var domain: StorageDomain {
      switch self {
      case .directory(let directory): .fileSystem(directory)
      case .appGroup(let group): .appGroupFileSystem(group: group)
      }
    }
  }

  private func engine(_ location: Location) async throws -> any StorageEngine {
    let opened = try DomainLocation(location.domain, configuration)
    if let engine = engines[opened] { return engine }
    let engine = try await opened.open(configuration)
    if let other = engines[opened] { return other }  // opened meanwhile
    engines[opened] = engine
    return engine
  }

  /// Replaces a file atomically: readers see either the old bytes or the new.
  /// - Throws: `StorageError`.
  public func write(_ data: Data, to location: Location, fileName: String) async throws {
    try await engine(location).commit(WriteBatch([.put(KeyName(fileName), data)]), from: origin)
  }

  /// Returns the bytes of a file, or `nil` when it is proven absent.
  /// - Throws: `StorageError`.
  public func read(from location: Location, fileName: String) async throws -> Data? {
    let engine = try await engine(location)
    return try await engine.entry(KeyName(fileName))?.requiringPlain(at: engine.description).value
  }

  /// Deletes a file. Deleting a missing file is not an error.
  /// - Throws: `StorageError`.
  public func delete(from location: Location, fileName: String) async throws {
    try await engine(location).commit(WriteBatch([.delete(KeyName(fileName))]), from: origin)
  }

  /// Returns whether there is a file; `false` means proven absent.
  /// - Throws: `StorageError` when it cannot be determined.
  public func exists(in location: Location, fileName: String) async throws -> Bool {
    try await engine(location).contains(KeyName(fileName))
  }

  /// Returns the names of all files, in the order of their UTF-8 bytes.
  /// - Throws: `StorageError`.
  public func list(in location: Location) async throws -> [String] {
    try await engine(location).summaries().map(\.key.string)
  }

  /// Returns the size of a file in bytes, without reading it, or `nil` when it is proven absent.
  /// - Throws: `StorageError`.
  public func size(in location: Location, fileName: String) async throws -> Int? {
    try await engine(location).summary(of: KeyName(fileName))?.size
  }
}
