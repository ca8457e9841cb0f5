public import CofferCore
public import CofferFileSystem
public import Foundation

/// A `StorageAdapter` that stores each value in a file.
///
/// ```swift
/// let adapter = FileStorageAdapter(directory: URL(fileURLWithPath: "/var/lib/shop/settings"))
/// try await adapter.write(key: "theme", data: Data("dark".utf8))   // /var/lib/shop/settings/theme
/// ```
///
/// It is a thin wrapper of `SlotEngine`; use the engine directly for batches and changes.
public actor FileStorageAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// Creates an adapter for an open engine.
  public init(engine: any StorageEngine) {
    self.engine = engine
  }

  /// Opens the directory, creating it if it is missing. Blocks the calling thread for a few milliseconds.
  ///
  /// This initializer does not throw: while the directory cannot be opened, every method of the adapter tries again and
  /// throws the reason. In asynchronous code prefer ``open(directory:configuration:)-(URL,_)``.
  public init(directory: URL, configuration: SlotEngine.Configuration = SlotEngine.Configuration()) {
    engine = Self.engine(in: .success(directory), configuration)
  }

  /// Opens a subdirectory of `directory` for one type of client, so that clients do not share keys.
  ///
  /// Its name is the qualified name of the type, encoded like a key: `Shop.UserPreferencesClient` becomes
  /// `+shop.+user+preferences+client`. Renaming the type leaves its old directory behind. Private types of one name
  /// share a directory.
  public init(
    directory: URL, client: any Any.Type, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) {
    let own = Result { directory.appendingPathComponent(try Self.name(of: client), isDirectory: true) }
    engine = Self.engine(in: own, configuration)
  }

  private static func engine(
    in directory: Result<URL, any Error>, _ configuration: SlotEngine.Configuration
  ) -> any StorageEngine {
    do {
      return try SlotEngine.filesBlocking(in: directory.get(), configuration: configuration)
    } catch {
      let path = (try? directory.get())?.path ?? ""
      return SlotEngine.reopening(after: error, description: "file:\(path)", configuration) {
        try await SlotEngine.files(in: directory.get(), configuration: configuration)
      }
    }
  }

  /// Opens the directory without blocking the calling thread.
  /// - Throws: The errors of `SlotEngine.files(in:configuration:)`.
  public static func open(
    directory: URL, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> FileStorageAdapter {
    FileStorageAdapter(engine: try await SlotEngine.files(in: directory, configuration: configuration))
  }

  /// Opens the directory at a path without blocking the caller.
  /// - Throws: The errors of `SlotEngine.files(in:configuration:)`.
  public static func open(
    directory path: String, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> FileStorageAdapter {
    FileStorageAdapter(engine: try await SlotEngine.files(in: path, configuration: configuration))
  }

  /// Opens a subdirectory of `directory` for one type of client without blocking the calling thread.
  /// - Throws: The errors of `SlotEngine.files(in:configuration:)`.
  public static func open(
    directory: URL, client: any Any.Type, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> FileStorageAdapter {
    try await open(
      directory: directory.appendingPathComponent(try name(of: client), isDirectory: true),
      configuration: configuration)
  }

  /// Opens a named subdirectory of a system directory, or of your own, without blocking the calling thread.
  ///
  /// ```swift
  /// let drafts = try await FileStorageAdapter.open("com.example.shop/drafts", in: .documents)
  /// ```
  /// - Throws: The errors of `SlotEngine.files(in:configuration:)` and `FileDirectory.url()`.
  public static func open(
    _ name: String, in directory: FileDirectory, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> FileStorageAdapter {
    try await open(
      directory: directory.url().appendingPathComponent(name, isDirectory: true), configuration: configuration)
  }

  /// Returns the keys that start with `prefix`, sorted by their bytes. Linear in their number; reads no value.
  /// - Throws: `StorageError`.
  public func keys(prefix: String? = nil) async throws -> [String] {
    try await engine.summaries(prefix: prefix.map { try KeyName($0) }).map(\.key.string)
  }

  /// Returns the size of a value in bytes, which is that of its file, or `nil` if there is none. Reads no value.
  /// - Throws: `StorageError`.
  public func size(key: String) async throws -> Int? { try await engine.summary(of: KeyName(key))?.size }

  /// Returns the total size of all values in bytes. Linear in their number; reads no value.
  /// - Throws: `StorageError`.
  public func totalSize() async throws -> Int { try await engine.summaries().reduce(0) { $0 + ($1.size ?? 0) } }

  private static func name(of client: any Any.Type) throws -> String {
    // The reflected name distinguishes types of the same name in different modules. That of a private type differs from
    // run to run.
    let reflected = String(reflecting: client)
    let name = reflected.contains("(unknown context") ? String(describing: client) : reflected
    return FileName(try KeyName(name)).string
  }
}
