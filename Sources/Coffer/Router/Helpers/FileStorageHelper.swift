public import CofferFileSystem
import CofferSQLite
public import Foundation

/// Files by directory and name (document 4), for those who need no declared key.
///
/// The bytes of a file are the value's and nothing else; the name is escaped where a file system could not have it.
/// Every directory is opened once.
public actor FileStorageHelper {
  /// The helper of the application, with the usual settings.
  public static let shared = FileStorageHelper()

  private let configuration: StorageConfiguration
  private let origin = StoreOrigin()
  private var engines: [DomainHome: any StorageEngine] = [:]

  /// - Parameter configuration: how directories are opened.
  public init(configuration: StorageConfiguration = StorageConfiguration()) { self.configuration = configuration }

  /// Where files are: a directory of the application's own in one of these.
  public enum Place: Hashable, Sendable {
    /// A directory.
    case directory(FileDirectory)
    /// The directory that a group of applications shares; the configuration's group unless given.
    case appGroup(String? = nil)

    var domain: StorageDomain {
      switch self {
      case .directory(let directory): .fileSystem(directory)
      case .appGroup(let group): .appGroupFileSystem(group: group)
      }
    }
  }

  private func engine(_ place: Place) async throws -> any StorageEngine {
    let home = try DomainHome(place.domain, configuration)
    if let engine = engines[home] { return engine }
    let engine = try await home.open(configuration)
    if let other = engines[home] { return other }  // opened meanwhile
    engines[home] = engine
    return engine
  }

  /// Writes a file as a whole, replacing what was there; whoever reads it sees the old bytes or the new.
  /// - Throws: `StorageError`.
  public func write(_ data: Data, to place: Place, fileName: String) async throws {
    try await engine(place).commit(WriteBatch([.put(StoreKey(fileName), data)]), from: origin)
  }

  /// The bytes of a file; `nil` when it is proven absent.
  /// - Throws: `StorageError`.
  public func read(from place: Place, fileName: String) async throws -> Data? {
    try await engine(place).entry(StoreKey(fileName))?.value
  }

  /// Deletes a file. A missing one is no error.
  /// - Throws: `StorageError`.
  public func delete(from place: Place, fileName: String) async throws {
    try await engine(place).commit(WriteBatch([.delete(StoreKey(fileName))]), from: origin)
  }

  /// Whether there is a file.
  /// - Throws: `StorageError` when nobody can tell.
  public func exists(in place: Place, fileName: String) async throws -> Bool {
    try await engine(place).contains(StoreKey(fileName))
  }

  /// The names of all files, in the order of their bytes.
  /// - Throws: `StorageError`.
  public func list(in place: Place) async throws -> [String] { try await engine(place).summaries().map(\.key.string) }

  /// The size of a file in bytes, without reading it; `nil` when it is absent.
  /// - Throws: `StorageError`.
  public func size(in place: Place, fileName: String) async throws -> Int? {
    try await engine(place).summary(of: StoreKey(fileName))?.size
  }
}
