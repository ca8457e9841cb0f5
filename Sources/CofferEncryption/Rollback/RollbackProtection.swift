package import CofferCore
package import Foundation

/// How an encrypted store notices that an older copy of it was put back.
///
/// ```swift
/// var configuration = EncryptedEngine.Configuration()
/// configuration.rollbackProtection = RollbackProtection(anchor: FileAnchor(URL(fileURLWithPath:
/// "/mnt/other/shop.anchor"))) let engine = try await EncryptedEngine.open(base, key: key, configuration:
/// configuration)
/// ```
///
/// The store counts in an authenticated record of its own, and the anchor keeps the latest number. A store whose number
/// is lower, or whose key ring is older, is refused with `rolledBack` when it is opened. `docs/security.md` states what
/// is noticed and what is not.
public struct RollbackProtection: Sendable {
  /// The anchor, which belongs to this store alone.
  public var anchor: any RollbackAnchor

  /// The time after a commit until the anchor is updated; a minute by default. An older copy from within this time is
  /// not noticed. The anchor is also updated when the store is flushed and closed.
  public var interval: Duration

  /// The maximum duration of reading or updating the anchor; 10 seconds by default. Afterwards it is `unavailable`.
  public var timeout: Duration

  /// Creates settings.
  public init(
    anchor: any RollbackAnchor, interval: Duration = .seconds(60), timeout: Duration = .seconds(10)
  ) {
    self.anchor = anchor
    self.interval = interval
    self.timeout = timeout
  }

  // MARK: The anchor

  /// Returns the record of the anchor; `nil` if there is none.
  /// - Parameter location: the location of the store, for errors.
  func record(for location: String) async throws -> Data? {
    try await inTime(location) { [anchor] in try await anchor.record() }
  }

  /// Replaces the record by the result of `change`, unless that is `nil`.
  func update(for location: String, _ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    try await inTime(location) { [anchor] in try await anchor.update(change) }
  }

  /// Refuses a store without a key ring whose anchor knows one: its encrypted values would look absent.
  /// - Parameters:
  ///   - base: the engine of the store; `nil` if there is none.
  ///   - location: the location of the store.
  /// - Returns: the record of the anchor, which was read before the key ring.
  /// - Throws: `rolledBack`, and the errors of the anchor.
  @discardableResult
  package func requireRing(in base: (any StorageEngine)?, at location: String) async throws -> Data? {
    guard let bytes = try await record(for: location) else { return nil }
    if let base, try await StoredKeyRing.load(from: base) != nil { return bytes }
    do {
      let anchored = try AnchorRecord(bytes)
      base?.tellRollback(from: anchored)
      throw StorageError.rolledBack(
        "The anchor (\(anchor.description)) knows an encrypted store, at \(anchored.inWords), and this one has no key "
          + "ring.", location: location)
    } catch let error as StorageError {
      throw error.unconfirmed(anchor.description, location: location)
    }
  }

  private func inTime<R: Sendable>(
    _ location: String, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    func unavailable(_ what: String, _ underlying: StorageError.Underlying? = nil) -> StorageError {
      StorageError(
        .unavailable, "The anchor of the store (\(anchor.description)) \(what).",
        advice: "Try again. The values of the store are not affected.", location: location, underlying: underlying)
    }
    do {
      return try await withDeadline(timeout, orThrow: unavailable("did not answer within \(timeout)"), body)
    } catch let error where error is StorageError || error is CancellationError && Task.isCancelled {
      throw error
    } catch {
      let type = String(reflecting: type(of: error))
      throw unavailable("threw an error", .init(domain: type, code: (error as NSError).code, text: ""))
    }
  }
}

extension AnchorRecord {
  /// What it says about the state of the store, for messages.
  var inWords: String { "revision \(revision) of \(date.formatted(.iso8601))" }
}
