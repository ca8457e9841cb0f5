/// Whether a value is sent to the user's other devices (document 4).
public enum SyncPolicy: String, CaseIterable, Hashable, Sendable {
  /// It stays on this device.
  case never
  /// It is sent when the application asks for it.
  case manual
  /// It is sent when it is written, if it is small: `SyncConfiguration.maximumAutomaticSize`.
  case automaticSmall
}
