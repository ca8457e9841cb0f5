import CofferCore
import CofferFileSystem
import CofferFiles
public import CofferSlots
public import Foundation

extension SwiftVault {
  /// Where a vault of files is.
  public enum FileSystemLocation: Sendable, Hashable {
    /// A directory of this application's own: `SwiftVaultData` in the folder in application support that has the name
    /// of its bundle identifier, or of the process where there is none.
    case `default`
    /// `SwiftVaultData` in the directory that a group of applications shares. What else is there is never touched.
    case appGroup(identifier: String)
    /// A directory of your choice.
    case custom(directory: FileManager.Path)
  }

  /// A vault with a file per key, whose bytes are exactly the value's, safe with other processes on the same directory.
  ///
  /// ```swift
  /// let service = try SwiftVault.fileSystem(location: .custom(directory: .custom("/var/lib/shop")))
  /// try await service.saveData(data, forKey: "current_user", transactionID: UUID())   // /var/lib/shop/current_user
  /// ```
  ///
  /// What an editor or another tool does to the files arrives in `externalChanges` without a transaction. In a
  /// directory of your choice every file that has the name of a key is a value; `clearAll` removes those and nothing
  /// else. It blocks the caller while the directory is opened, a few
  /// milliseconds.
  /// - Parameters:
  ///   - location: the directory, made if it is missing (0700).
  ///   - configuration: how the store is opened.
  /// - Throws: ``SwiftVaultError``: `.backendError` when the system does not say where application support is,
  ///   `.appGroupContainerUnavailable`, `.unsupportedOperation` for a path that cannot be one, `.initializationFailed`
  ///   for everything else, with what happened and what to do.
  public static func fileSystem(
    location: FileSystemLocation = .default, configuration: SlotConfiguration = SlotConfiguration()
  ) throws -> EngineVaultService {
    let directory = try location.directory()
    return try VaultOperation.open.runNow {
      service(over: try SlotEngine.filesBlocking(in: directory, configuration: configuration))
    }
  }
}

extension SwiftVault.FileSystemLocation {
  /// A directory of the vault's own: a name in a directory that others use too may be somebody else's.
  private var vaultName: String { "SwiftVaultData" }

  func directory() throws -> URL {
    switch self {
    case .custom(let directory): return try directory.url()
    case .appGroup(let identifier):
      do {
        return try StoreAppGroup.container(identifier).appendingPathComponent(vaultName, isDirectory: true)
      } catch {
        throw SwiftVaultError.appGroupContainerUnavailable(appGroupId: identifier, underlyingError: error)
      }
    case .default:
      let system = SystemDirectories.current
      do {
        return try system.url(for: .applicationSupport)
          .appendingPathComponent(system.bundleIdentifier ?? system.processName, isDirectory: true)
          .appendingPathComponent(vaultName, isDirectory: true)
      } catch {
        throw SwiftVaultError.backendError(reason: error.message, underlyingError: error)
      }
    }
  }
}
