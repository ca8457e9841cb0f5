public import CofferCore

/// A kind of store that another module adds: the scheme of its locations and the functions that open them.
///
/// ```swift
/// let postgres = LocationScheme(
///   "postgresql", form: "postgresql:URL", meaning: "a database server",
///   exists: { _ in true }, open: { address, options in try await PostgresEngine.open(address) })
/// var options = StoreOptions()
/// options.schemes = [postgres]
/// let engine = try await StoreLocation("postgresql:shop", schemes: options.schemes).open(options)
/// ```
public struct LocationScheme: Sendable {
  /// The text before the colon: ASCII letters, digits, `+` and `-`.
  public let name: String
  /// The form of a location, for help texts.
  public let form: String
  /// A short description of the store, for help texts.
  public let meaning: String
  /// Whether its stores are made for secrets, so that routers accept declared secrets in them.
  public let keepsSecrets: Bool

  let check: @Sendable (_ address: String) throws -> Void
  let exists: @Sendable (_ address: String) throws -> Bool
  let open: @Sendable (_ address: String, _ options: StoreOptions) async throws -> any StorageEngine

  /// Creates a scheme.
  /// - Parameters:
  ///   - name: the text before the colon; must not be a scheme of this library.
  ///   - form: the form of a location, for help texts.
  ///   - meaning: a short description of the store, for help texts.
  ///   - keepsSecrets: whether its stores are made for secrets; `false` by default. Their engines must then declare
  ///     `StoreCapabilities.Features.secrecy`: opening a store whose engine does not throws `invalidDeclaration`.
  ///   - check: throws `StorageError` for an invalid address. It must examine the text only.
  ///   - exists: returns whether the store exists. It must not create anything.
  ///   - open: opens the store; ``StoreOptions/createsIfMissing`` determines whether it may be created.
  public init(
    _ name: String, form: String, meaning: String, keepsSecrets: Bool = false,
    check: @escaping @Sendable (_ address: String) throws -> Void = { _ in },
    exists: @escaping @Sendable (_ address: String) throws -> Bool,
    open: @escaping @Sendable (_ address: String, _ options: StoreOptions) async throws -> any StorageEngine
  ) {
    self.name = name
    self.form = form
    self.meaning = meaning
    self.keepsSecrets = keepsSecrets
    self.check = check
    self.exists = exists
    self.open = open
  }

  /// Opens a store, and closes it again if it is not made for secrets although the scheme declares it.
  func opened(_ address: String, _ options: StoreOptions) async throws -> any StorageEngine {
    let engine = try await open(address, options)
    guard keepsSecrets, !engine.capabilities.contains(.secrecy) else { return engine }
    let location = engine.description
    try await engine.close()
    throw StorageError(
      .invalidDeclaration,
      "The scheme '\(name.escapingControlCharacters)' declares stores for secrets, and the engine does not.",
      advice: "Declare the engine's capability 'secrecy' if it keeps its promise. Nothing was read or written.",
      location: location)
  }
}

extension LocationScheme {
  /// Returns the scheme with a name: one of those given, or a registered one.
  package static func named(_ name: some StringProtocol, in schemes: [LocationScheme]) -> LocationScheme? {
    all(schemes).first { $0.name == name }
      ?? EngineScheme.registered.first { $0.aliases.contains { $0 == name } }.map(LocationScheme.init)
  }

  /// The given schemes and the registered ones.
  static func all(_ schemes: [LocationScheme]) -> [LocationScheme] {
    schemes + EngineScheme.registered.map(LocationScheme.init)
  }

  private init(_ scheme: EngineScheme) {
    self.init(scheme.name, form: scheme.form, meaning: scheme.meaning, check: scheme.check, exists: scheme.exists) {
      address, options in
      var settings = options.database.common
      (settings.createsIfMissing, settings.access) = (options.createsIfMissing, options.access)
      return try await scheme.open(address, settings)
    }
  }
}
