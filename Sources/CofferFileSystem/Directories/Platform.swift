/// What kind of device a program runs on.
public enum Platform: String, CaseIterable, Hashable, Sendable {
  /// A phone or tablet.
  case phone
  /// A watch.
  case watch
  /// A desktop computer or a server.
  case computer

  /// This one.
  public static var current: Platform {
    #if os(iOS) && !targetEnvironment(macCatalyst)
      .phone
    #elseif os(watchOS)
      .watch
    #else
      .computer
    #endif
  }
}
