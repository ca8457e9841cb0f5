public import CofferCore

/// A kind of store that another target adds: how its locations begin, and how they are opened.
///
/// ```swift
/// let postgres = StoreScheme(
///   "postgresql", form: "postgresql:URL", meaning: "a database server",
///   exists: { _ in true }, open: { place, options in try await PostgresEngine.open(place) })
/// var options = StoreOptions()
/// options.schemes = [postgres]
/// let engine = try await StoreLocation("postgresql:shop", schemes: options.schemes).open(options)
/// ```
public struct StoreScheme: Sendable {
  /// What stands before the colon: ASCII letters, digits, `+` and `-`.
  public let name: String
  /// How a location is written.
  public let form: String
  /// What such a store is, in a few words.
  public let meaning: String

  let check: @Sendable (_ place: String) throws -> Void
  let exists: @Sendable (_ place: String) throws -> Bool
  let open: @Sendable (_ place: String, _ options: StoreOptions) async throws -> any StorageEngine

  /// A kind of store.
  /// - Parameters:
  ///   - name: what stands before the colon; not one that this library has.
  ///   - form: how a location is written, for help texts.
  ///   - meaning: what such a store is, for help texts.
  ///   - check: throws `StorageError` for a place that cannot be one. It looks at nothing but the text.
  ///   - exists: whether somebody has begun to use the store. It makes nothing.
  ///   - open: opens it; `StoreOptions/createsIfMissing` says whether it may be made.
  public init(
    _ name: String, form: String, meaning: String,
    check: @escaping @Sendable (_ place: String) throws -> Void = { _ in },
    exists: @escaping @Sendable (_ place: String) throws -> Bool,
    open: @escaping @Sendable (_ place: String, _ options: StoreOptions) async throws -> any StorageEngine
  ) {
    self.name = name
    self.form = form
    self.meaning = meaning
    self.check = check
    self.exists = exists
    self.open = open
  }
}
