package import CofferCore

/// What keeps the desktop's keyring from being used, for people who ask.
package enum KeyringDiagnosis {
  /// `nil` when it can be used. Blocks for a few seconds at most, and never asks anybody anything.
  package static func obstacle() -> StorageError? {
    #if SecretService && os(Linux)
      let state = SecretServiceClient().state()
      return state == .open ? nil : state.error()
    #else
      return StorageError(
        .unsupported, "This program was built without the desktop's keyring.",
        advice: "Build it on Linux with the package trait 'SecretService', or use a sealed file.")
    #endif
  }
}
