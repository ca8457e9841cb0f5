/// What kind of device a program runs on.
public enum StorePlatform: String, CaseIterable, Hashable, Sendable {
  /// A phone or tablet.
  case phone
  /// A watch.
  case watch
  /// A desktop computer or a server.
  case computer

  /// This one.
  public static var current: StorePlatform {
    #if os(iOS) && !targetEnvironment(macCatalyst)
      .phone
    #elseif os(watchOS)
      .watch
    #else
      .computer
    #endif
  }
}
