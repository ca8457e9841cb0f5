/// A random number generator for repeatable tests: SplitMix64 (Steele, Lea, Flood 2014), which yields the same numbers
/// for the same seed.
///
/// ```swift
/// var random = SeededGenerator(seed: 7)
/// let size = Int.random(in: 0...4_096, using: &random)
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator. Print the seed when a test fails.
  public init(seed: UInt64) { state = seed }

  /// Returns the next 64 random bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
