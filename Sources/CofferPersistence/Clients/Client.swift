/// A part of an application that holds state.
public protocol Client: Sendable {}

/// A client whose state is stored by keys and restored when the client is created.
///
/// ```swift
/// struct UserPreferencesClient: Persistable {
///   static let persistedKeys = ["theme"]
///   let persistence: any PersistenceCapability
///   @ClientState var theme: Theme = .system
///
///   func persistState() async throws { try await persistence.save(theme, for: "theme") }
///   func restoreState() async throws {
///     if let saved = try await persistence.load(Theme.self, for: "theme") { theme = saved }
///   }
/// }
/// ```
///
/// A ``ClientSession`` restores such clients and saves their edits.
public protocol Persistable: Client {
  /// The keys that ``persistState()`` may write. State under no key is not stored.
  static var persistedKeys: [String] { get }
  /// The store of the state; in a session the ``ClientPersistence`` that the session passes.
  var persistence: any PersistenceCapability { get }
  /// Saves the state with ``persistence``. Save everything: a session writes only the values that have changed. It also
  /// calls this once after ``restoreState()``, and stores nothing then, to know what was not edited.
  /// - Throws: Any error if a value could not be encoded or stored.
  func persistState() async throws
  /// Loads the state with ``persistence`` and assigns it. By default it does nothing, for a client that is only saved.
  /// - Throws: Any error if the state cannot be read. The client is not started then, and its stored state stays.
  func restoreState() async throws
}

extension Persistable {
  public func restoreState() async throws {}
}
