extension StorageEngine {
  /// The current availability of the store, as far as the engine knows: a failure that nothing has reported yet, such
  /// as a keyring that has just stopped answering, is discovered by the next read.
  public var currentAvailability: StoreAvailability {
    get async {
      for await present in availability() { return present }
      return .unavailable(reason: "The task was cancelled.")
    }
  }
}
