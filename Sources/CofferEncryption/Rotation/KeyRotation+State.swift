extension KeyRotation {
  /// The state of a running rotation.
  public struct State: Hashable, Sendable {
    /// The number of values that were examined, of which some needed no change.
    public internal(set) var values = 0
    /// The number of values that the store held when they were counted; it may change meanwhile.
    public internal(set) var totalValues = 0
    /// The number of values that were written anew.
    public internal(set) var changedValues = 0
    /// The plain size of the values that were written anew, in bytes.
    public internal(set) var changedBytes = 0
    /// Whether all values are done.
    public package(set) var isFinished = false

    /// Creates the state of a rotation that has not begun.
    package init() {}

    /// Returns the numbers of two stores together.
    package static func + (left: State, right: State) -> State {
      var sum = right
      sum.values += left.values
      sum.totalValues += left.totalValues
      sum.changedValues += left.changedValues
      sum.changedBytes += left.changedBytes
      sum.isFinished = false
      return sum
    }
  }
}
