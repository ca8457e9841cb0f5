/// The progress of a capability in a ``DefaultCapabilityManager``.
public enum CapabilityState: Hashable, Sendable {
  /// It is not activated.
  case inactive
  /// It is being activated.
  case activating
  /// It can be used.
  case active
  /// It is being deactivated.
  case deactivating
  /// It could not be activated or deactivated. `reason` is a sentence that states why.
  case failed(reason: String)

  /// Whether the capability has failed.
  public var isFailed: Bool {
    if case .failed = self { true } else { false }
  }
}
