extension StorageKeyDescriptor {
  /// Refuses a declaration whose parts contradict each other or that nobody understands.
  /// - Parameter needsWords: whether owner and description must be there, as in a catalog.
  func check(needsWords: Bool) throws {
    let key = try StoreKey(name)
    if needsWords {
      for (word, text) in [("owner", owner), ("description", description)] where text.allSatisfy(\.isWhitespace) {
        throw flaw(key, "The key has no \(word).", "Say in a sentence what it is for, and whose it is.")
      }
    }
    guard !isSensitive || domain.isSecure else {
      throw StorageError(
        .insecureKey, "The key is a secret, and \(domain) keeps values as they are.",
        advice: "Keep it in a keychain. Nothing was read or written.", key: key)
    }
    guard !isSensitive || syncPolicy == .never else {
      throw StorageError(
        .insecureKey, "The key is a secret, and would be sent to other devices as it is.",
        advice: "Set its sync policy to never. Nothing was read or written.", key: key)
    }
    switch (security, domain) {
    case (.keychain, _) where domain.keepsSecrets, (.encrypted, .encryptedFileSystem),
      (.none, _) where !domain.isSecure:
      break
    case (.encrypted, _) where !domain.isSecure: break
    default:
      throw flaw(
        key, "The key is to be secured by '\(security)', which \(domain) cannot do.",
        "Leave the security policy to the domain, or choose another domain.")
    }
  }

  private func flaw(_ key: StoreKey, _ message: String, _ advice: String) -> StorageError {
    StorageError(.invalidDeclaration, message, advice: advice + " Nothing was read or written.", key: key)
  }

  /// Why the key cannot be used, if it cannot.
  func obstacle(on platform: StorePlatform) -> StorageError? {
    guard availability.includes(platform) else {
      return StorageError(
        .platformUnavailable, "The key does not exist on this platform: it is \(availability.rawValue).",
        advice: "Ask PlatformAvailability before you use it. Nothing was read or written.")
    }
    if hasMigration {
      return StorageError(
        .unsupported, "The key has a migration, which this version cannot carry out.",
        advice: "Bring the older value over yourself. Nothing was read or written.")
    }
    switch security {
    case .encrypted: return .noEncryption
    case .keychain(_, let control?):
      return StorageError(
        .unsupported, "No authenticator is here that could enforce '\(control)'.",
        advice: "Store the secret without access control, if that is enough for it. Nothing was read or written.")
    case .none, .keychain: return nil
    }
  }
}
