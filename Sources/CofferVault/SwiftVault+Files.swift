import CofferCore
import CofferFileSystem
public import CofferFiles
public import Foundation

extension SwiftVault {
  /// The directory of a file vault.
  public enum FileSystemLocation: Sendable, Hashable {
    /// The application's private directory: `SwiftVaultData` in the application support folder that is named after the
    /// bundle identifier, or after the process where there is no bundle identifier.
    case `default`
    /// `SwiftVaultData` in the shared container of an app group. Other files in the container are never touched.
    case appGroup(identifier: String)
    /// Any other directory.
    case custom(directory: URL)
  }

  /// Opens a vault with one file per key, which contains exactly the bytes of the value. Several processes can use the
  /// same directory.
  ///
  /// ```swift
  /// let service = try SwiftVault.fileSystem(location: .custom(directory: URL(fileURLWithPath: "/var/lib/shop")))
  /// try await service.saveData(data, forKey: "current_user", transactionID: UUID())   // /var/lib/shop/current_user
  /// ```
  ///
  /// Edits by other programs arrive in `externalChanges` without a transaction. In a `custom` directory every file
  /// whose name is a key is a value; `clearAll` removes those files and no others. The call blocks for a few
  /// milliseconds while the directory is opened.
  /// - Parameters:
  ///   - location: the directory, created with mode 0700 if it is missing.
  ///   - configuration: the settings with which the store is opened.
  /// - Throws: ``SwiftVaultError``: `.backendError` when the application support directory cannot be located,
  ///   `.appGroupContainerUnavailable`, `.unsupportedOperation` for a URL that is not of a file,
  ///   `.initializationFailed` for all other failures, with a message that states the cause and the remedy.
  public static func fileSystem(
    location: FileSystemLocation = .default, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) throws -> EngineVaultService {
    let directory = try location.directory()
    return try VaultOperation.open.runNow {
      service(over: try SlotEngine.filesBlocking(in: directory, configuration: configuration))
    }
  }
}

extension SwiftVault.FileSystemLocation {
  /// The name of the vault's own directory, which keeps its files apart from those of other programs.
  private var vaultName: String { "SwiftVaultData" }

  func directory() throws -> URL {
    switch self {
    case .custom(let directory):
      guard directory.isFileURL else {
        throw SwiftVaultError.unsupportedOperation(description: "the URL of the directory is not the URL of a file")
      }
      return directory
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
