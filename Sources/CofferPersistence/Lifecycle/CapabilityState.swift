public import CofferCore

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
  /// It could not be activated, or became unavailable later. `reason` is a sentence that states why.
  case failed(reason: String)

  /// Whether the capability has failed.
  public var isFailed: Bool {
    if case .failed = self { true } else { false }
  }
}

/// The name of a capability in a ``DefaultCapabilityManager``.
public struct CapabilityID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  public let description: String

  /// Creates a name.
  public init(_ name: String) { description = name }
  public init(stringLiteral name: String) { description = name }
}

/// A capability that reports when it becomes unavailable while it is active.
public protocol ReportingCapability: Capability {
  /// Returns a stream of the availability: the current state first, then each change.
  nonisolated func availability() -> AsyncStream<StoreAvailability>
}

extension AdapterBasedPersistence: ReportingCapability {}
