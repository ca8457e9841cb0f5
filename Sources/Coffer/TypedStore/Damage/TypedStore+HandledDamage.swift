public import CofferCore

extension TypedStore {
  /// A report of what a ``DamagePolicy`` has done about a damaged value. It contains no values.
  public struct HandledDamage: Sendable {
    /// What was done.
    public enum Outcome: Sendable {
      /// The value was replaced by that of the policy, in the commit of this revision.
      case replaced(StoreRevision)
      /// The value could not be replaced. The read throws the error, and the next read tries again.
      case failed(StorageError)
    }

    /// The damaged value, with its key and the id of its bytes in the quarantine.
    public let damage: DamageReport
    /// What was done.
    public let outcome: Outcome
  }
}
