public import CofferCore
import CofferFileSystem
public import CofferSlots
public import Foundation

/// A `StorageAdapter` that keeps preferences where `UserDefaults` does (document 1), and loses none.
///
/// ```swift
/// let adapter = UserDefaultsAdapter(suiteName: "com.example.shop")
/// try await adapter.set("dark", for: "theme")
/// UserDefaults(suiteName: "com.example.shop")?.string(forKey: "theme")   // "dark"
/// ```
///
/// Foundation's own `UserDefaults` on Linux writes nothing until `synchronize()`, and then overwrites the file in
/// place: what it has not synchronised is lost when the process ends, and a kill leaves half a file. This adapter
/// writes the same file, whole and at once, tells every change with key and transaction, and reads what other programs
/// write. Do not write one suite by both at the same time: `UserDefaults` takes no locks and writes back what it has
/// read.
///
/// It is a thin actor over `SlotEngine`; use the engine directly for batches and changes.
public actor UserDefaultsAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// A handle on an open engine of preferences.
  public init(engine: any StorageEngine) { self.engine = engine }

  /// Opens a suite, and blocks while it does: a few milliseconds.
  ///
  /// It does not throw, as in the project that document 1 comes from: while the suite cannot be opened, every use of
  /// the adapter tries again and throws why. In asynchronous code prefer ``open(suiteName:configuration:)``.
  /// - Parameters:
  ///   - suiteName: up to 128 letters, digits, `.`, `_` and `-`; `nil` for the application's own. The identifier of an
  ///     app group is the suite that its applications share.
  ///   - configuration: how it is opened.
  public init(suiteName: String? = nil, configuration: SlotConfiguration = SlotConfiguration()) {
    do {
      engine = try SlotEngine.preferencesBlocking(suite: suiteName, configuration: configuration)
    } catch {
      let system = SystemDirectories.current
      let name = suiteName.map { $0.escapingControlCharacters } ?? ""
      engine = SlotEngine.reopening(after: error, description: "prefs:\(name)", configuration.forPreferences) {
        try await SystemDirectories.$current.withValue(system) {
          try await SlotEngine.preferences(suite: suiteName, configuration: configuration)
        }
      }
    }
  }

  /// Opens a suite without blocking the caller.
  /// - Throws: What `SlotEngine.preferences(suite:configuration:)` throws.
  public static func open(
    suiteName: String? = nil, configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> UserDefaultsAdapter {
    UserDefaultsAdapter(engine: try await SlotEngine.preferences(suite: suiteName, configuration: configuration))
  }

  /// Stores a value as its own type, so that `UserDefaults` reads it with the method of that type.
  /// - Parameters:
  ///   - value: collections of text, numbers and yes or no are kept exactly.
  ///   - key: of the preference.
  ///   - transaction: the commit's transaction id; a new one unless given.
  /// - Throws: `StorageError`: `unsupported` for a collection with dates or bytes in it, which can be stored as `Data`
  ///   of your own coding, and for a dictionary that has a name twice.
  @discardableResult
  public func set(_ value: PreferenceValue, for key: String, transaction: TransactionID? = nil) async throws
    -> StoreCommit
  {
    let key = try StoreKey(key)
    guard let value = value.ordered else {
      throw StorageError.unsupported(
        "two values of one name in a dictionary", advice: "Remove one of them. Nothing was written.",
        backend: engine.description
      ).locating(backend: engine.description, key: key)
    }
    if value.kind == .collection, PreferenceValue(value.bytes, as: .collection) != value {
      throw StorageError.unsupported(
        "collections with dates, bytes or fractions that are whole numbers in them",
        advice: "Encode the collection yourself and store it as Data. Nothing was written.",
        backend: engine.description
      ).locating(backend: engine.description, key: key)
    }
    let batch = WriteBatch([.put(key, value.bytes, value.attributes)], transaction: transaction)
    return try await engine.commit(batch, from: origin)
  }

  /// A value with its type, whoever has written it; `nil` when there is none.
  /// - Throws: `StorageError`.
  public func value(for key: String) async throws -> PreferenceValue? {
    let key = try StoreKey(key)
    guard let entry = try await engine.entry(key) else { return nil }
    // Collections that others have written may have more in them than their bytes can say.
    let slots = engine.as(SlotEngine.self)?.slots as? DocumentSlots<PropertyListFormat>
    if let present = try slots?.document().values[key], present.bytes == entry.value { return present }
    let kind = entry.attributes[.preferenceKind].flatMap(PreferenceKind.init) ?? .data
    return PreferenceValue(entry.value, as: kind) ?? .data(entry.value)
  }

  /// The keys that start with `prefix`, in the order of their bytes. Linear in their number.
  /// - Throws: `StorageError`.
  public func keys(prefix: String? = nil) async throws -> [String] {
    try await engine.summaries(prefix: prefix.map { try StoreKey($0) }).map(\.key.string)
  }
}
