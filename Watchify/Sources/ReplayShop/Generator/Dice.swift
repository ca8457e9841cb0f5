/// A SplitMix64 generator (Steele, Lea, Flood 2014), which returns the same numbers for the same seed on every machine.
struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 to `limit - 1`.
  mutating func below(_ limit: Int) -> Int { limit < 1 ? 0 : Int(next() % UInt64(limit)) }

  /// Returns `true` with the given probability, in percent.
  mutating func happens(_ percent: Int) -> Bool { below(100) < percent }

  mutating func pick<T>(from elements: [T]) -> T { elements[below(elements.count)] }
}
