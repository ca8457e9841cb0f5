/// The kind of device that a program runs on.
public enum StorePlatform: String, CaseIterable, Hashable, Sendable {
  /// A phone or tablet: iOS and iPadOS, but not Mac Catalyst.
  case phone
  /// A watch: watchOS.
  case watch
  /// A desktop computer or a server: every other system.
  case computer

  /// The platform that this program was compiled for.
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
