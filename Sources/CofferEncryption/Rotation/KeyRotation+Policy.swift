import Foundation

extension KeyRotation {
  /// When an ``EncryptedEngine`` replaces the key of its store by itself.
  ///
  /// ```swift
  /// var configuration = EncryptedEngine.Configuration()
  /// configuration.automaticRotation = KeyRotation.Policy(maximumAge: .seconds(90 * 86_400))
  /// ```
  ///
  /// The policy is checked when the store is opened and at least once an hour while it is open. The rotation runs in
  /// the background; it ends when the engine is closed, and the next engine with a policy continues it. Several
  /// processes do the work together. A key is replaced at most once an hour. If values cannot be rewritten, the next
  /// attempt follows a day later. What happened is told as an event (`keysReplaced`, or `failed` with the operation
  /// `rotation`) and affects no read or write.
  public struct Policy: Hashable, Sendable {
    /// The age from which a key is replaced; at least an hour.
    public var maximumAge: Duration

    /// The time in seconds for which a new key is not replaced.
    static let minimumAge: TimeInterval = 3_600

    /// Creates a policy.
    public init(maximumAge: Duration) { self.maximumAge = maximumAge }

    /// Returns whether the primary key of a ring must be replaced.
    func isDue(_ ring: KeyRing, at now: Date) -> Bool {
      guard let primary = ring.entries.first(where: { $0.state == .primary }) else { return false }
      return now.timeIntervalSince(primary.created) >= max(Self.minimumAge, maximumAge.inSeconds)
    }
  }
}

extension Duration {
  fileprivate var inSeconds: TimeInterval {
    TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
  }
}
