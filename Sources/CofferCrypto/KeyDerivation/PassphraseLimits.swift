/// What trying a passphrase may cost before it is refused.
///
/// A sealed file says itself how much memory and work its passphrase takes, and a file can come from anybody: without
/// bounds, one header could take all memory of the machine, or hours. The numbers of the header are compared with these
/// bounds before any memory is allocated and before the passphrase is asked for.
///
/// ```swift
/// var limits = PassphraseLimits()
/// limits.memory = 1 << 30  // a store that was made with 1 GiB
/// let engine = try await SlotEngine.sealed(at: file, passphrase: .terminal(), limits: limits)
/// ```
public struct PassphraseLimits: Hashable, Sendable {
  /// The memory in bytes; 256 MiB by default. New stores take 128 MiB.
  public var memory = 256 << 20

  /// The time in seconds, estimated from the numbers and not measured; 5 by default. New stores are estimated at half a
  /// second.
  public var seconds = 5.0

  /// The usual limits.
  public init() {}
}
