/// A method of a D-Bus interface.
///
/// ```swift
/// let capabilities = BusMethod("org.freedesktop.Notifications", "GetCapabilities", reply: "(as)")
/// ```
public struct BusMethod: Hashable, Sendable {
  /// The name of the interface, such as `org.freedesktop.Notifications`.
  public let interface: String
  /// The name of the method, such as `GetCapabilities`.
  public let name: String
  /// The type of the reply: a tuple, in D-Bus notation. A reply of another type is a failure.
  public let reply: String
  /// Whether the method changes state, so that a failed call may have had an effect (``BusFailure/mayHaveHappened``).
  public let changesSomething: Bool

  /// Creates the description of a method.
  /// - Parameters:
  ///   - interface: the interface that declares it.
  ///   - name: its name there.
  ///   - reply: the type of its reply, `()` for none.
  ///   - changesSomething: whether it changes state.
  public init(_ interface: String, _ name: String, reply: String, changesSomething: Bool = false) {
    self.interface = interface
    self.name = name
    self.reply = reply
    self.changesSomething = changesSomething
  }
}
