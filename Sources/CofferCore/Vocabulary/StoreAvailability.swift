/// Whether a store can be read and written at this moment.
public enum StoreAvailability: Hashable, Sendable {
  /// It can.
  case available
  /// It can, and this sentence says what was lost before: acknowledged commits that are not there any more.
  case recovered(reason: String)
  /// It cannot, and this sentence says why. Reads throw; they never answer "absent".
  case unavailable(reason: String)

  /// Whether the store can be used.
  public var isUsable: Bool {
    if case .unavailable = self { false } else { true }
  }
}
