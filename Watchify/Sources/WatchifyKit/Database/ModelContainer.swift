public import CofferRouter
import CofferSQLite
public import Foundation

/// Watchify's database: one Coffer database whose tables and typed keys share one writer and one journal.
///
/// ```swift
/// let container = try await ModelContainer.open(at: file)
/// let service = await StoreService.makeBackground(container: container)
/// ```
public final class ModelContainer: Sendable {
  /// The settings, accessed by typed keys.
  public let settings: StorageRouter
  let database: SQLiteDatabase

  private init(_ database: SQLiteDatabase) async throws {
    self.database = database
    var configuration = StorageConfiguration()
    configuration.application = "watchify"
    configuration.engines[WatchifySettings.home] = database.engine
    configuration.stateDomain = .engine(WatchifySettings.home)
    settings = StorageRouter(configuration: configuration)
    try await settings.registerCatalog(WatchifySettings())
  }

  /// Opens a database, creating it if it does not exist and migrating an older one.
  /// - Throws: `StorageError`: `newerFormat` if a newer Watchify has written the database, which is then left
  ///   unchanged.
  public static func open(at file: URL) async throws -> ModelContainer {
    let database = try await SQLiteDatabase.open(at: file.path, migrations: Schema.migrations)
    do {
      return try await ModelContainer(database)
    } catch {
      try? await database.close()
      throw error
    }
  }

  /// Checks that no newer version has migrated the database since it was opened, by one short read.
  /// - Throws: `StorageError`: `newerFormat` if one has.
  public func checkVersion() async throws { try await database.migrate(Schema.migrations) }

  /// Returns the default location of the database: `$XDG_DATA_HOME/watchify/watchify.db`.
  /// - Throws: `StorageError` if the system defines no directory for application data.
  public static func usualFile() throws -> URL {
    try FileDirectory.applicationSupport.url().appendingPathComponent("watchify/watchify.db")
  }

  /// Completes pending writes and closes the database.
  public func close() async throws { try await database.close() }
}

/// An executor that runs an actor's code outside the cooperative thread pool.
public protocol ModelExecutor: SerialExecutor {}

/// An actor whose code runs neither on the main thread nor in the cooperative thread pool.
public protocol ModelActor: Actor {
  /// The executor of the actor.
  nonisolated var modelExecutor: any ModelExecutor { get }
  /// The database of the actor.
  nonisolated var modelContainer: ModelContainer { get }
}

extension QueueExecutor: ModelExecutor {}
