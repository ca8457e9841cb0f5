/// A service that an application can use while it is available.
public protocol Capability: Actor {
  /// Whether the capability can currently be used.
  var isAvailable: Bool { get async }
  /// Prepares the capability for use. Idempotent.
  /// - Throws: Any error that prevents its use.
  func activate() async throws
  /// Ends the use of the capability and releases its resources. It can be activated again. A method that does not throw
  /// conforms too.
  /// - Throws: Any error that means loss, such as that of pending writes that could not be stored.
  func deactivate() async throws
}
