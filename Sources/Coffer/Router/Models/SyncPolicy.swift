/// The conditions under which a value is sent to the user's other devices.
public enum SyncPolicy: String, CaseIterable, Hashable, Sendable {
  /// The value stays on this device.
  case never
  /// The value is sent by ``StorageRouter/syncRegisteredKeysIfNeeded()``.
  case manual
  /// The value is also sent when it is written. Its size is limited to ``SyncConfiguration/maximumAutomaticSize``.
  case automaticSmall
}
