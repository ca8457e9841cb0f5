package import CofferCore
import CofferFileSystem
import CofferFiles

/// Read-only checks of keychains, without opening them.
package enum KeychainInspection {
  /// Returns whether this user has opened the keychain of a service with this library before.
  /// - Throws: `StorageError` if that cannot be determined.
  package static func wasUsed(service: String, accessGroup: String?) throws -> Bool {
    try KeychainLocation(service: service, accessGroup: accessGroup, in: .current).wasUsed()
  }

  /// Returns the name of the keyring in which the values of a service are, and whether it is locked, if another one is
  /// the default now. Never prompts.
  package static func formerKeyring(
    service: String, accessGroup: String?, configuration: KeychainConfiguration
  ) -> (name: String, isLocked: Bool)? {
    #if SecretService && os(Linux)
      let location = try? KeychainLocation(service: service, accessGroup: accessGroup, in: .current)
      guard let location, let former = try? slots(location.scope, control: location.control, configuration).former()
      else { return nil }
      return (former.label.escapingControlCharacters, former.isLocked)
    #else
      return nil
    #endif
  }

  /// Returns the keys of a service in the keyring, in order, whether or not this library has a journal of it here.
  /// Creates nothing and never prompts; the keyring is started if the bus can activate it.
  /// - Throws: `unavailable` for a keyring that is locked, missing or does not answer, or in which a writer with
  ///   another data directory has not finished; `unsupported` if the library was built without keyrings.
  package static func keys(
    service: String, accessGroup: String?, configuration: KeychainConfiguration
  ) async throws -> [KeyName] {
    #if SecretService && os(Linux)
      let scope = try KeyringScope(service: service, accessGroup: accessGroup)
      // Without a journal there is no record of keyring files, so the directories of a listing do not matter.
      let slots = slots(scope, control: "/dev/null", configuration)
      let found = try await runBlocking { try slots.list() }
      guard !found.contains(where: \.slot.isStaged) else {
        throw StorageError(
          .unavailable, "A program with another data directory has not finished writing to the keyring.",
          advice: "Run it again, or set XDG_DATA_HOME to its directory.", location: scope.description)
      }
      return found.compactMap(\.key).sorted()
    #else
      throw StorageError(
        .unsupported, "This program was built without support for the desktop's keyring, and cannot ask it.",
        advice: "Build it on Linux with the package trait 'SecretService'.", location: "keychain:\(service)")
    #endif
  }

  #if SecretService && os(Linux)
    private static func slots(
      _ scope: KeyringScope, control: String, _ configuration: KeychainConfiguration
    ) -> KeyringSlots {
      KeyringSlots(
        scope, accessibility: configuration.accessibility, keyringDirectory: "/dev/null", control: control,
        address: configuration.address, timeout: configuration.timeout,
        allowsPlainSession: configuration.allowsPlainSession, allowsPrompts: configuration.allowsPrompts)
    }
  #endif
}

extension Slot {
  fileprivate var isStaged: Bool { if case .staged = self { true } else { false } }
}
