import CofferCore

extension StorageKeyDescriptor {
  /// Validates the declaration.
  /// - Parameters:
  ///   - needsWords: whether owner and description are required, as in a catalog.
  ///   - configuration: the settings of the router, whose engines may be made for secrets.
  /// - Throws: `insecureKey` or `invalidDeclaration` when parts are missing or contradict each other.
  func check(needsWords: Bool, _ configuration: StorageConfiguration) throws {
    let key = try KeyName(name)
    if needsWords {
      for (word, text) in [("owner", owner), ("description", description)] where text.allSatisfy(\.isWhitespace) {
        throw flaw(key, "The key has no \(word).", "Declare its owner, and its purpose in a sentence.")
      }
    }
    guard !isSensitive || domain.isSecure || isEncrypted || configuration.keepsSecrets(domain) else {
      throw StorageError(
        .insecureKey, "The key is a secret, and \(domain) does not protect values.",
        advice: "Encrypt it, or store it in a keychain or a sealed file. Nothing was read or written.", key: key)
    }
    guard !isSensitive || syncPolicy == .never else {
      throw StorageError(
        .insecureKey, "The key is a secret, and would be sent to other devices unprotected.",
        advice: "Set its sync policy to never. Nothing was read or written.", key: key)
    }
    guard !isEncrypted || syncPolicy == .never else {
      throw StorageError(
        .insecureKey, "The key is encrypted, and would be sent to other devices unprotected.",
        advice: "Set its sync policy to never. Nothing was read or written.", key: key)
    }
    guard family == nil || !hasMigration else {
      throw flaw(key, "The key is a family, and has a migration.", "Migrate its members in your own code.")
    }
    if let lifetime, lifetime <= .zero {
      throw flaw(key, "The key has a lifetime that is not positive.", "Omit it, or declare a longer one.")
    }
    switch (security, domain) {
    case (.keychain, _) where configuration.keepsSecrets(domain) && !domain.isEncrypted,
      (.encrypted, _) where domain.isEncrypted,
      (.none, _) where !domain.isSecure:
      break
    case (.encrypted, _) where !domain.isSecure: break
    default:
      throw flaw(
        key, "The key has the security policy '\(security)', which \(domain) does not support.",
        "Omit the security policy, or choose another domain.")
    }
  }

  /// The encryption of the key's values by this library; `nil` if they are not encrypted.
  var encryption: SecurityPolicy.Encryption? { if case .encrypted(let policy) = security { policy } else { nil } }
  var isEncrypted: Bool { encryption != nil }

  private func flaw(_ key: KeyName, _ message: String, _ advice: String) -> StorageError {
    StorageError(.invalidDeclaration, message, advice: advice + " Nothing was read or written.", key: key)
  }

  /// The access control that the key declares.
  var accessControl: KeychainAccessControl? {
    if case .keychain(_, let control) = security { control } else { nil }
  }

  /// Returns the reason why the key cannot be used with the settings of a router, or `nil` if it can.
  func obstacle(_ configuration: StorageConfiguration) -> StorageError? {
    guard availability.includes(configuration.platform) else {
      return StorageError(
        .platformUnavailable, "The key does not exist on this platform: it is \(availability.rawValue).",
        advice: "Check PlatformAvailability before you use it. Nothing was read or written.")
    }
    switch security {
    case .keychain(_, let control?) where configuration.authentication?.supports(control) != true:
      return .noAuthenticator(for: control)
    case .none, .keychain, .encrypted: return nil
    }
  }
}
