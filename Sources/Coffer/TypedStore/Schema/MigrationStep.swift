import Foundation

/// A step from one version of a schema to another: a function from the old type to the new one.
///
/// ```swift
/// let step = MigrationStep(from: 1, to: 2) { (old: Theme1) in Theme2(name: old.name, accent: .blue) }
/// ```
///
/// The function may run more than once for one value, for example when another process migrates it at the same time;
/// only one result is stored. It must have no side effects, and must not read its own value, for which it would wait.
public struct MigrationStep: Sendable {
  /// The version that the step reads.
  public let source: Int
  /// The version that the step returns.
  public let target: Int
  let types: (old: any Any.Type, new: any Any.Type)
  let decode: @Sendable (EncodedValue, ByteCoding, KeyName) throws -> any Sendable
  /// Converts a value of the old type.
  let body: @Sendable (any Sendable) async throws -> any Sendable

  /// Creates a step.
  /// - Parameters:
  ///   - source: the version that the step reads.
  ///   - target: the version that it returns: a larger one or, for a step back, a smaller one.
  ///   - body: converts a value. If it throws, the stored value is unchanged.
  public init<Old: Decodable & Sendable, New: Sendable>(
    from source: Int, to target: Int, _ body: @escaping @Sendable (Old) async throws -> New
  ) {
    self.source = source
    self.target = target
    types = (Old.self, New.self)
    decode = { try $1.plainDecode(Old.self, from: $0, for: $2) }
    self.body = { value in
      guard let old = value as? Old else { throw WrongType() }
      return try await body(old)
    }
  }

  /// The step in messages.
  var text: String { "the step from \(source) to \(target)" }

  /// The value of a step has not the type that its schema declares.
  struct WrongType: Error {}
}
