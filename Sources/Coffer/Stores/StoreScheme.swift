public import CofferCore

/// A kind of store that another module adds: the scheme of its locations and the functions that open them.
///
/// ```swift
/// let postgres = StoreScheme(
///   "postgresql", form: "postgresql:URL", meaning: "a database server",
///   exists: { _ in true }, open: { address, options in try await PostgresEngine.open(address) })
/// var options = StoreOptions()
/// options.schemes = [postgres]
/// let engine = try await StoreLocation("postgresql:shop", schemes: options.schemes).open(options)
/// ```
public struct StoreScheme: Sendable {
  /// The text before the colon: ASCII letters, digits, `+` and `-`.
  public let name: String
  /// The form of a location, for help texts.
  public let form: String
  /// A short description of the store, for help texts.
  public let meaning: String

  let check: @Sendable (_ address: String) throws -> Void
  let exists: @Sendable (_ address: String) throws -> Bool
  let open: @Sendable (_ address: String, _ options: StoreOptions) async throws -> any StorageEngine

  /// Creates a scheme.
  /// - Parameters:
  ///   - name: the text before the colon; must not be a scheme of this library.
  ///   - form: the form of a location, for help texts.
  ///   - meaning: a short description of the store, for help texts.
  ///   - check: throws `StorageError` for an invalid address. It must examine the text only.
  ///   - exists: returns whether the store exists. It must not create anything.
  ///   - open: opens the store; ``StoreOptions/createsIfMissing`` determines whether it may be created.
  public init(
    _ name: String, form: String, meaning: String,
    check: @escaping @Sendable (_ address: String) throws -> Void = { _ in },
    exists: @escaping @Sendable (_ address: String) throws -> Bool,
    open: @escaping @Sendable (_ address: String, _ options: StoreOptions) async throws -> any StorageEngine
  ) {
    self.name = name
    self.form = form
    self.meaning = meaning
    self.check = check
    self.exists = exists
    self.open = open
  }
}
