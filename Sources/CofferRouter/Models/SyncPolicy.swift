/// The conditions under which a value is sent to the user's other devices.
public enum SyncPolicy: String, CaseIterable, Hashable, Sendable {
  /// The value stays on this device.
  case never
  /// The value is sent on request only: by ``StorageRouter/syncRegisteredKeysIfNeeded()``, and as part of a
  /// ``StorageRouter/syncSnapshot()``. Automatic sends repeat it as it was at the last request of this process, since a
  /// mailbox keeps only the latest state.
  case manual
  /// The value is also sent after each change by any process, without delaying the write. Its size is limited to
  /// ``StorageConfiguration/Sync/maximumAutomaticSize``.
  case automaticSmall
}
