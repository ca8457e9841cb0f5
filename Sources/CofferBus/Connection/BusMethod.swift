/// A method of a D-Bus interface.
///
/// ```swift
/// let capabilities = BusMethod("org.freedesktop.Notifications", "GetCapabilities", reply: "(as)")
/// ```
public struct BusMethod: Hashable, Sendable {
  /// Such as `org.freedesktop.Notifications`.
  public let interface: String
  /// Such as `GetCapabilities`.
  public let name: String
  /// The type of the answer: a tuple, in the notation of D-Bus. Another answer is a failure.
  public let reply: String
  /// Whether a call that failed may have changed something all the same (``BusFailure/mayHaveHappened``).
  public let changesSomething: Bool

  /// Names a method.
  /// - Parameters:
  ///   - interface: the interface that declares it.
  ///   - name: its name there.
  ///   - reply: the type of its answer, `()` for none.
  ///   - changesSomething: whether it does more than answer.
  public init(_ interface: String, _ name: String, reply: String, changesSomething: Bool = false) {
    self.interface = interface
    self.name = name
    self.reply = reply
    self.changesSomething = changesSomething
  }
}
