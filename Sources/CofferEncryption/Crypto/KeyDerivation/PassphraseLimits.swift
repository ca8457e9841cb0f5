/// The maximum cost of trying a passphrase; a file that demands more is refused.
///
/// The header of a sealed file determines how much memory and work its passphrase takes, and a file may come from an
/// untrusted source. Without limits, a header could demand all memory of the machine, or hours. The header is checked
/// against these limits before any memory is allocated and before the passphrase is requested.
///
/// ```swift
/// var limits = PassphraseLimits()
/// limits.memory = 1 << 30  // a store that was created with 1 GiB
/// let engine = try await SlotEngine.sealed(at: file, passphrase: .terminal(), limits: limits)
/// ```
public struct PassphraseLimits: Hashable, Sendable {
  /// The maximum memory in bytes; 256 MiB by default. New stores use 128 MiB.
  public var memory = 256 << 20

  /// The maximum time in seconds, estimated from the header and not measured; 5 by default. The estimate for new stores
  /// is half a second.
  public var seconds = 5.0

  /// Creates the default limits.
  public init() {}
}
