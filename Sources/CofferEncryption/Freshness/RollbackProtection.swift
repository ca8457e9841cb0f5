import CofferCore

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

  /// Refuses a missing store whose anchor knows an encrypted one.
  /// - Throws: `rolledBack`, and the errors of the anchor.
  package func refuseMissing(_ location: String) async throws {
    let reader = AnchorReader(settings: self, location: location)
    guard let bytes = try await reader.bytes() else { return }
    do {
      let anchored = try AnchorRecord(bytes)
      guard !anchored.isReleased else { return }
      throw StorageError.replacedStore("there is none now", than: anchored, in: reader.description, location: location)
    } catch let error as StorageError { throw error.unconfirmed(reader.description, location: location) }
  }
}
