/// Something that an app can use while it is available (document 1, P-001).
public protocol Capability: Actor {
  /// Whether it can be used at this moment.
  var isAvailable: Bool { get async }
  /// Prepares it for use. Activating twice is harmless.
  func activate() async throws
  /// Ends its use and gives back what it holds; it may be activated again.
  func deactivate() async
}
