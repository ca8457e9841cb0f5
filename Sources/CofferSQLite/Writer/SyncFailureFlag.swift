import CofferCore

/// A flag shared by all processes: a sync has failed, and the store has not been checked since.
struct SyncFailureFlag: Sendable {
  /// Whether the flag is set; one load from memory.
  let isGiven: @Sendable () -> Bool
  /// Sets the flag.
  let give: @Sendable () -> Void
}

extension StorageError {
  /// The error of every use of a store after a sync has failed in another process.
  static func failureElsewhere(_ file: StoreFile) -> StorageError {
    StorageError(
      .closed, "The store was closed after the device failed to confirm a commit of another process.",
      advice: "Check the device, then reopen the store and check its contents.", location: file.description)
  }
}
