import CofferCore
import Foundation

/// The access to an anchor within the deadline of its settings.
struct AnchorReader: Sendable {
  let settings: RollbackProtection
  /// The location of the store, for messages.
  let location: String

  var description: String { settings.anchor.description }

  /// Returns the record as it is; `nil` if there is none.
  func bytes() async throws -> Data? {
    let anchor = settings.anchor
    return try await reporting { try await anchor.record() }
  }

  /// Replaces the record by the result of `change`, unless that is `nil`.
  func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    let anchor = settings.anchor
    try await reporting { try await anchor.update(change) }
  }

  private func reporting<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    let late = unavailable("did not answer within \(settings.timeout)", nil)
    do { return try await withDeadline(settings.timeout, orThrow: late, body) } catch is CancellationError
      where Task.isCancelled
    {
      throw CancellationError()
    } catch let error as StorageError {
      throw error
    } catch {
      throw unavailable(
        "threw an error", .init(domain: String(reflecting: type(of: error)), code: (error as NSError).code, text: ""))
    }
  }

  private func unavailable(_ what: String, _ underlying: StorageError.Underlying?) -> StorageError {
    StorageError(
      .unavailable, "The anchor of the store (\(description)) \(what).",
      advice: "Try again. The values of the store are not affected.", location: location, underlying: underlying)
  }
}
