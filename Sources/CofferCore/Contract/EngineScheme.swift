/// A kind of store that another module adds to the locations of this process: the scheme of their texts, and how they
/// are opened.
///
/// ```swift
/// PostgreSQLEngine.registerLocations()
/// let engine = try await StoreLocation("postgresql://db.example.com/app?store=shop").open()
/// ```
///
/// Registered kinds can be used wherever a location is written as text: by routers, doors, and the `coffer` command.
public struct EngineScheme: Sendable {
  /// The text before the colon: ASCII letters, digits, `+` and `-`.
  public let name: String
  /// Other names of the scheme, which locations may have instead.
  public let aliases: [String]
  /// The form of a location, for help texts.
  public let form: String
  /// A short description of the store, for help texts.
  public let meaning: String
  /// Throws `StorageError` for an invalid address: what follows the colon. It examines the text only.
  public let check: @Sendable (_ address: String) throws -> Void
  /// Returns whether the store exists. It must not create anything; `true` if that is not known without connecting.
  public let exists: @Sendable (_ address: String) throws -> Bool
  /// Opens the store.
  public let open: @Sendable (_ address: String, _ options: OpenSettings) async throws -> any StorageEngine

  /// Creates a kind of store.
  public init(
    _ name: String, aliases: [String] = [], form: String, meaning: String,
    check: @escaping @Sendable (_ address: String) throws -> Void,
    exists: @escaping @Sendable (_ address: String) throws -> Bool,
    open: @escaping @Sendable (_ address: String, _ options: OpenSettings) async throws -> any StorageEngine
  ) {
    (self.name, self.aliases, self.form, self.meaning) = (name, aliases, form, meaning)
    (self.check, self.exists, self.open) = (check, exists, open)
  }

  private static let all = Locked<[EngineScheme]>([])

  /// Adds a kind of store to this process, or replaces the one with the same name.
  public static func register(_ scheme: EngineScheme) {
    all.withLock { all in
      all.removeAll { $0.name == scheme.name }
      all.append(scheme)
    }
  }

  /// The kinds of stores that were registered, in that order.
  public static var registered: [EngineScheme] { all.withLock { $0 } }
}
