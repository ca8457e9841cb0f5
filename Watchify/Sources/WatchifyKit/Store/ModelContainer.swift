public import Coffer
import CofferDatabase
public import Foundation

/// Where Watchify keeps everything: one Coffer database whose tables and typed keys share one writer and one journal.
///
/// ```swift
/// let container = try await ModelContainer.open(at: file)
/// let service = await StoreService.makeBackground(container: container)
/// ```
public final class ModelContainer: Sendable {
  /// The settings, by their typed keys.
  public let settings: StorageRouter
  let database: SQLiteDatabase

  private init(_ database: SQLiteDatabase) async throws {
    self.database = database
    var configuration = StorageConfiguration()
    configuration.application = "watchify"
    configuration.engines[WatchifySettings.home] = database.engine
    configuration.memory = .engine(WatchifySettings.home)
    settings = StorageRouter(configuration: configuration)
    try await settings.registerCatalog(WatchifySettings())
  }

  /// Opens a database, makes it if it is not there, and brings an older one up to date.
  /// - Throws: `StorageError`: `newerFormat` when a newer Watchify has written it; nothing is changed then.
  public static func open(at file: URL) async throws -> ModelContainer {
    let database = try await SQLiteDatabase.open(at: file.path, migrations: Schema.migrations)
    do {
      return try await ModelContainer(database)
    } catch {
      try? await database.close()
      throw error
    }
  }

  /// Where Watchify keeps its data unless told otherwise: `$XDG_DATA_HOME/watchify/watchify.db`.
  /// - Throws: `StorageError` when the system does not say where data belongs.
  public static func usualFile() throws -> URL {
    try FileDirectory.applicationSupport.url().appendingPathComponent("watchify/watchify.db")
  }

  /// Writes what waits and ends the use of the database.
  public func close() async throws { try await database.close() }
}

/// An executor that runs an actor's code on threads of its own (document 2).
public protocol ModelExecutor: SerialExecutor {}

/// An actor whose code runs beside the main thread and beside the threads that tasks share (document 2).
public protocol ModelActor: Actor {
  /// The threads that its code runs on.
  nonisolated var modelExecutor: any ModelExecutor { get }
  /// Where it keeps everything.
  nonisolated var modelContainer: ModelContainer { get }
}

extension QueueExecutor: ModelExecutor {}
