public import CofferCore
public import CofferSQLite
public import Foundation

/// A `StorageAdapter` that keeps a file per key (document 1).
///
/// ```swift
/// let adapter = FileStorageAdapter(directory: URL(fileURLWithPath: "/var/lib/shop/settings"))
/// try await adapter.write(key: "theme", data: Data("dark".utf8))   // /var/lib/shop/settings/theme
/// ```
///
/// It is a thin actor over ``CofferSQLite/SlotEngine``; use the engine directly for batches and changes.
public actor FileStorageAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = Origin()

  /// A handle on an open engine.
  public init(engine: SlotEngine) {
    self.engine = engine
  }

  /// Opens the directory, making it if it is missing, and blocks while it does: a few milliseconds.
  ///
  /// It does not throw, as in the project that document 1 comes from: where the directory cannot be opened, every use
  /// of the adapter throws why. In asynchronous code prefer ``open(directory:configuration:)``.
  public init(directory: URL) {
    do {
      engine = try SlotEngine.filesBlocking(in: directory)
    } catch {
      engine = UnavailableEngine(error, description: "file:\(directory.path)")
    }
  }

  /// Opens the directory of one type of client below `directory`, so that clients do not share keys (document 1).
  ///
  /// Its name is the type's with its module, written as keys are: `Shop.UserPreferencesClient` is
  /// `+shop.+user+preferences+client`. Renaming the type leaves its old directory behind.
  public init(directory: URL, client: any Any.Type) {
    self.init(directory: Self.directory(of: client, in: directory))
  }

  /// Opens the directory without blocking the caller.
  /// - Throws: What ``CofferSQLite/SlotEngine/files(in:configuration:)`` throws.
  public static func open(
    directory: URL, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> FileStorageAdapter {
    FileStorageAdapter(engine: try await SlotEngine.files(in: directory, configuration: configuration))
  }

  static func directory(of client: any Any.Type, in directory: URL) -> URL {
    // The reflected name tells types of one name in different modules apart. That of a private type differs from run
    // to run.
    let reflected = String(reflecting: client)
    let name = reflected.contains("(unknown context") ? String(describing: client) : reflected
    guard let key = try? Key(name) else { return directory }
    return directory.appendingPathComponent(FileName(key).string, isDirectory: true)
  }
}
