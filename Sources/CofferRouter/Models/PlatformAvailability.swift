public import CofferFileSystem

/// The set of a user's devices on which a value exists.
///
/// A value that exists on the phone only, or on the watch only, is not sent to other devices, whatever sync policy its
/// key declares. ``StorageRouter/setSyncPolicy(_:for:)-(_,K)`` overrides that.
public enum PlatformAvailability: String, CaseIterable, Hashable, Sendable {
  /// All devices.
  case all
  /// The phone only.
  case phoneOnly
  /// The watch only.
  case watchOnly
  /// The phone, which syncs the value to the watch; the watch and other devices can read and write it too.
  case phoneWithWatchSync

  /// Returns whether a value exists on a platform.
  public func includes(_ platform: StorePlatform) -> Bool {
    switch self {
    case .all, .phoneWithWatchSync: true
    case .phoneOnly: platform == .phone
    case .watchOnly: platform == .watch
    }
  }

  /// Whether a declared sync policy applies: there is another kind of device to send the value to.
  var allowsSync: Bool {
    switch self {
    case .all, .phoneWithWatchSync: true
    case .phoneOnly, .watchOnly: false
    }
  }
}
