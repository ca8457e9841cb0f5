import Foundation

/// The reason of an external step for refusing a value, in words that may be shown.
package struct StepRefusal: Error {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// A step from one version of a schema to another: a function from the old type to the new one.
///
/// ```swift
/// let step = MigrationStep(from: 1, to: 2) { (old: Theme1) in Theme2(name: old.name, accent: .blue) }
/// ```
///
/// The function may run more than once for one value, for example when another process migrates it at the same time;
/// only one result is stored. It must have no side effects.
public struct MigrationStep: Sendable {
  /// The version that the step reads.
  public let source: Int
  /// The version that the step returns.
  public let target: Int
  /// The time after which the step counts as failed.
  public let limit: Duration
  let types: (old: any Any.Type, new: any Any.Type)
  let decode: @Sendable (EncodedValue, ByteCoding, KeyName) throws -> any Sendable
  private let body: @Sendable (any Sendable) async throws -> any Sendable

  /// Creates a step.
  /// - Parameters:
  ///   - source: the version that the step reads.
  ///   - target: the version that it returns: a larger one or, for a step back, a smaller one.
  ///   - limit: the time after which the step counts as failed; 30 s by default.
  ///   - body: converts a value. If it throws, the stored value is unchanged.
  public init<Old: Decodable & Sendable, New: Sendable>(
    from source: Int, to target: Int, within limit: Duration = .seconds(30),
    _ body: @escaping @Sendable (Old) async throws -> New
  ) {
    self.source = source
    self.target = target
    self.limit = limit
    types = (Old.self, New.self)
    decode = { try $1.plainDecode(Old.self, from: $0, for: $2) }
    self.body = { value in
      guard let old = value as? Old else { throw StepFailure(error: nil) }
      return try await body(old)
    }
  }

  /// The step in messages.
  var text: String { "the step from \(source) to \(target)" }

  /// A failure of the step itself, as opposed to the end of the wait for it.
  struct StepFailure: Error {
    let error: (any Error)?
  }

  /// Runs the step under a watch, which leaves a step behind that does not return in time.
  /// - Throws: ``StepFailure``.
  func run(
    _ value: any Sendable, _ watch: StepWatch, orThrow late: @escaping @Sendable () -> StorageError
  ) async throws -> any Sendable {
    do { return try await watch.step(within: limit, late: late) { try await body(value) } } catch {
      throw StepFailure(error: error)
    }
  }
}
