public import CofferCore
import CofferFileSystem
public import Foundation

/// A `StorageAdapter` that stores preferences in the files of `UserDefaults`, durably.
///
/// ```swift
/// let adapter = UserDefaultsAdapter(suiteName: "com.example.shop")
/// try await adapter.set("dark", for: "theme")
/// UserDefaults(suiteName: "com.example.shop")?.string(forKey: "theme")   // "dark"
/// ```
///
/// Foundation's `UserDefaults` on Linux writes nothing until `synchronize()`, and then overwrites the file in place:
/// values that are not synchronized are lost when the process ends, and a kill leaves a truncated file. This adapter
/// replaces the same file atomically at each commit, reports every change with its key and transaction, and reads what
/// other programs write. Do not write to one suite with both at the same time: `UserDefaults` takes no locks and writes
/// back values that it has read earlier.
///
/// It is a thin wrapper of `SlotEngine`; use the engine directly for batches and changes.
public actor UserDefaultsAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// Creates an adapter for an open engine of preferences.
  public init(engine: any StorageEngine) { self.engine = engine }

  /// Opens a suite. Blocks the calling thread for a few milliseconds.
  ///
  /// This initializer does not throw: while the suite cannot be opened, every method of the adapter tries again and
  /// throws the reason. In asynchronous code prefer ``open(suiteName:configuration:)``.
  /// - Parameters:
  ///   - suiteName: up to 128 letters, digits, `.`, `_` and `-`; `nil` for the application's own suite. The identifier
  ///     of an app group is the suite that its applications share.
  ///   - configuration: the options for opening the store.
  public init(suiteName: String? = nil, configuration: SlotEngine.Configuration = SlotEngine.Configuration()) {
    do {
      engine = try SlotEngine.preferencesBlocking(suite: suiteName, configuration: configuration)
    } catch {
      let system = SystemDirectories.current
      let name = suiteName.map { $0.escapingControlCharacters } ?? ""
      engine = SlotEngine.reopening(
        after: error, description: "prefs:\(name)", configuration.forPreferences, holdsPropertyLists: true
      ) {
        try await SystemDirectories.$current.withValue(system) {
          try await SlotEngine.preferences(suite: suiteName, configuration: configuration)
        }
      }
    }
  }

  /// Opens a suite without blocking the calling thread.
  /// - Throws: The errors of `SlotEngine.preferences(suite:configuration:)`.
  public static func open(
    suiteName: String? = nil, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> UserDefaultsAdapter {
    UserDefaultsAdapter(engine: try await SlotEngine.preferences(suite: suiteName, configuration: configuration))
  }

  /// Stores a value with its property list type, so that `UserDefaults` reads it with the method for that type.
  /// - Parameters:
  ///   - value: the value. Collections of strings, numbers and Booleans, of dates, and of bytes are stored exactly.
  ///   - key: the key of the preference.
  ///   - expires: the date from which the preference is absent; `nil` for one that does not expire. `UserDefaults`
  ///     does not know of it.
  ///   - transaction: the transaction id of the commit; a new one by default.
  /// - Throws: `StorageError`: `unsupported` for a dictionary with a duplicate name, and for a collection that contains
  ///   dates, bytes or fractions that are whole numbers beside values of other types. You can encode such a collection
  ///   and store it as `Data`.
  @discardableResult
  public func set(
    _ value: PreferenceValue, for key: String, expires: Date? = nil, transaction: TransactionID? = nil
  ) async throws -> StoreCommit {
    let key = try KeyName(key)
    guard let value = value.ordered else {
      throw StorageError.unsupported(
        "two values of one name in a dictionary", advice: "Remove one of them. Nothing was written.",
        location: engine.description
      ).locating(at: engine.description, key: key)
    }
    if value.kind == .collection, PreferenceValue(value.bytes, as: .collection) != value {
      throw StorageError.unsupported(
        "collections that mix dates, bytes or fractions that are whole numbers with others",
        advice: "Encode the collection yourself and store it as Data. Nothing was written.",
        location: engine.description
      ).locating(at: engine.description, key: key)
    }
    var attributes = value.attributes
    if let expires { attributes.expires = expires }
    let batch = WriteBatch([.put(key, value.bytes, attributes)], transaction: transaction)
    return try await engine.commit(batch, from: origin)
  }

  /// Returns a value with its type, whichever program wrote it, or `nil` if there is none.
  /// - Throws: `StorageError`.
  public func get(_ key: String) async throws -> PreferenceValue? {
    let key = try KeyName(key)
    guard let entry = try await engine.entry(key)?.requiringPlain(at: engine.description) else { return nil }
    // A collection written by another program may contain more than its JSON bytes can represent.
    let slots = engine.as(SlotEngine.self)?.slots as? DocumentSlots<PropertyListFormat>
    if let present = try slots?.document().values[key], present.bytes == entry.value { return present }
    let kind = entry.attributes[.preferenceKind].flatMap(PreferenceKind.init) ?? .data
    return PreferenceValue(entry.value, as: kind) ?? .data(entry.value)
  }

  /// Returns the keys that start with `prefix`, sorted by their bytes. Linear in their number.
  /// - Throws: `StorageError`.
  public func keys(prefix: String? = nil) async throws -> [String] {
    try await engine.summaries(prefix: prefix.map { try KeyName($0) }).map(\.key.string)
  }
}
