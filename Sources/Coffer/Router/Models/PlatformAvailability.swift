public import CofferFileSystem

/// On which of a user's devices a value exists (document 4).
public enum PlatformAvailability: String, CaseIterable, Hashable, Sendable {
  /// On all of them.
  case all
  /// On the phone only.
  case phoneOnly
  /// On the watch only.
  case watchOnly
  /// On the phone, from where the watch gets it: the watch and other devices can read and write it, too.
  case phoneWithWatchSync

  /// Whether a value exists on a platform.
  public func includes(_ platform: StorePlatform) -> Bool {
    switch self {
    case .all, .phoneWithWatchSync: true
    case .phoneOnly: platform == .phone
    case .watchOnly: platform == .watch
    }
  }
}
