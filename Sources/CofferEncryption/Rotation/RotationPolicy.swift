import Foundation

/// When an ``EncryptedEngine`` replaces the key of its store by itself.
///
/// ```swift
/// var configuration = EncryptionConfiguration()
/// configuration.automaticRotation = RotationPolicy(maximumAge: .seconds(90 * 86_400))
/// ```
///
/// The policy is checked when the store is opened, at least once an hour while it is open, and whenever the number of
/// encrypted values is recorded. The rotation runs in the background; it ends when the engine is closed, and the next
/// engine with a policy continues it. Of several processes, one does the work. A key is replaced at most once an hour.
/// If values cannot be rewritten, the next attempt follows a day later. What happened is told as an event
/// (`keysReplaced`, or `failed` with the operation `rotation`)
/// and affects no read or write.
public struct RotationPolicy: Hashable, Sendable {
  /// The age from which a key is replaced; `nil` for any age. A key is at least an hour old.
  public var maximumAge: Duration?
  /// The recorded number of encrypted values from which a key is replaced; `nil` for any number up to the limit of the
  /// library, which is 2^31.
  public var maximumUses: UInt64?

  /// The time in seconds for which a new key is not replaced, so that a limit below the number of values in a store
  /// does not keep it rotating.
  static let minimumAge: TimeInterval = 3_600

  /// Creates a policy.
  public init(maximumAge: Duration? = nil, maximumUses: UInt64? = nil) {
    self.maximumAge = maximumAge
    self.maximumUses = maximumUses
  }

  /// Returns whether the primary key of a ring must be replaced.
  func isDue(_ ring: KeyRing, at now: Date) -> Bool {
    guard let primary = ring.entries.first(where: { $0.state == .primary }) else { return false }
    let age = now.timeIntervalSince(primary.created)
    guard age >= Self.minimumAge else { return false }
    return maximumAge.map { age >= $0.inSeconds } ?? false || maximumUses.map { primary.uses >= $0 } ?? false
  }
}

extension Duration {
  fileprivate var inSeconds: TimeInterval {
    TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
  }
}
