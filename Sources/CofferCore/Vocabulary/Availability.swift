/// Whether a store can be read and written at this moment.
public enum Availability: Hashable, Sendable {
  /// It can.
  case available
  /// It cannot, and this sentence says why. Reads throw; they never answer "absent".
  case unavailable(reason: String)
}
