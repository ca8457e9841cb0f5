public import CofferCore
public import CofferFileSystem
public import CofferSlots
public import Foundation

/// A `StorageAdapter` that keeps a file per key (document 1).
///
/// ```swift
/// let adapter = FileStorageAdapter(directory: URL(fileURLWithPath: "/var/lib/shop/settings"))
/// try await adapter.write(key: "theme", data: Data("dark".utf8))   // /var/lib/shop/settings/theme
/// ```
///
/// It is a thin actor over `SlotEngine`; use the engine directly for batches and changes.
public actor FileStorageAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// A handle on an open engine.
  public init(engine: any StorageEngine) {
    self.engine = engine
  }

  /// Opens the directory, making it if it is missing, and blocks while it does: a few milliseconds.
  ///
  /// It does not throw, as in the project that document 1 comes from: while the directory cannot be opened, every use
  /// of the adapter tries again and throws why. In asynchronous code prefer ``open(directory:configuration:)``.
  public init(directory: URL, configuration: SlotConfiguration = SlotConfiguration()) {
    engine = Self.engine(in: .success(directory), configuration)
  }

  /// Opens the directory of one type of client below `directory`, so that clients do not share keys (document 1).
  ///
  /// Its name is the type's with its module, written as keys are: `Shop.UserPreferencesClient` is
  /// `+shop.+user+preferences+client`. Renaming the type leaves its old directory behind. Private types of one name
  /// share a directory.
  public init(
    directory: URL, client: any Any.Type, configuration: SlotConfiguration = SlotConfiguration()
  ) {
    let own = Result { directory.appendingPathComponent(try Self.name(of: client), isDirectory: true) }
    engine = Self.engine(in: own, configuration)
  }

  private static func engine(
    in directory: Result<URL, any Error>, _ configuration: SlotConfiguration
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

  /// Opens the directory without blocking the caller.
  /// - Throws: What `SlotEngine.files(in:configuration:)` throws.
  public static func open(
    directory: URL, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> FileStorageAdapter {
    FileStorageAdapter(engine: try await SlotEngine.files(in: directory, configuration: configuration))
  }

  /// Opens the directory of one type of client below `directory` without blocking the caller.
  /// - Throws: What `SlotEngine.files(in:configuration:)` throws.
  public static func open(
    directory: URL, client: any Any.Type, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> FileStorageAdapter {
    try await open(
      directory: directory.appendingPathComponent(try name(of: client), isDirectory: true),
      configuration: configuration)
  }

  /// Opens a directory with a name below one of the system's or your own, without blocking the caller.
  ///
  /// ```swift
  /// let drafts = try await FileStorageAdapter.open("com.example.shop/drafts", in: .documents)
  /// ```
  /// - Throws: What `SlotEngine.files(in:configuration:)` and `FileDirectory.url()` throw.
  public static func open(
    _ name: String, in directory: FileDirectory, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> FileStorageAdapter {
    try await open(
      directory: directory.url().appendingPathComponent(name, isDirectory: true), configuration: configuration)
  }

  /// The keys that start with `prefix`, in the order of their bytes. Linear in their number; reads no value.
  /// - Throws: `StorageError`.
  public func keys(prefix: String? = nil) async throws -> [String] {
    try await engine.summaries(prefix: prefix.map { try StoreKey($0) }).map(\.key.string)
  }

  /// The size of a value in bytes, which is that of its file; `nil` when it is absent. Does not read it.
  /// - Throws: `StorageError`.
  public func size(key: String) async throws -> Int? { try await engine.summary(of: StoreKey(key))?.size }

  /// The size of all values together in bytes. Linear in their number; reads no value.
  /// - Throws: `StorageError`.
  public func totalSize() async throws -> Int { try await engine.summaries().reduce(0) { $0 + ($1.size ?? 0) } }

  private static func name(of client: any Any.Type) throws -> String {
    // The reflected name tells types of one name in different modules apart. That of a private type differs from run
    // to run.
    let reflected = String(reflecting: client)
    let name = reflected.contains("(unknown context") ? String(describing: client) : reflected
    return FileName(try StoreKey(name)).string
  }
}
