import CofferCore

/// The sign, shared by all processes, that a sync has failed and that nobody has looked at the device's content since.
struct FailureSign: Sendable {
  /// Whether it is given; one load from memory.
  let isGiven: @Sendable () -> Bool
  /// Gives it.
  let give: @Sendable () -> Void
}

extension StorageError {
  /// The error of every use of a store after a sync has failed in another process.
  static func failureElsewhere(_ place: StorePlace) -> StorageError {
    StorageError(
      .closed, "The store closed itself after the device failed to confirm a commit of another process.",
      advice: "Check the device, open the store again and look at what it holds.", backend: place.description)
  }
}
