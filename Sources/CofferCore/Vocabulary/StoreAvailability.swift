/// The availability of a store for reads and writes.
public enum StoreAvailability: Hashable, Sendable {
  /// The store can be used.
  case available
  /// The store can be used, but acknowledged commits were lost before. `reason` is a sentence that describes the loss.
  case recovered(reason: String)
  /// The store cannot be used. `reason` is a sentence that states why. Reads throw; they never return `nil`.
  case unavailable(reason: String)

  /// Whether the store can be read and written, which includes a store that has lost commits.
  public var isUsable: Bool {
    if case .unavailable = self { false } else { true }
  }
}
