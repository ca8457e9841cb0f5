import Coffer
import CofferEncryption
import CofferTerminal

/// A cipher of encrypted values, as `--cipher` names it.
enum CipherName: String, CaseIterable, Sendable {
  case aes256, chacha20

  var algorithm: EncryptionAlgorithm {
    switch self {
    case .aes256: .aes256
    case .chacha20: .chaCha20Poly1305
    }
  }
}

extension Invocation {
  /// Returns the manner of encryption that the options state; `nil` without any.
  func encryptionSettings() throws -> EncryptionSettings? {
    guard Option.ofEncryption.contains(where: has) else { return nil }
    var settings = EncryptionSettings(hidesNames: has(.hideNames), padsValues: has(.pad))
    if let word = options[.cipher] {
      guard let cipher = CipherName(rawValue: word) else {
        let names = CipherName.allCases.map(\.rawValue).joined(separator: " or ")
        throw Command.mistake("\(Option.cipher.name) takes \(names).", command)
      }
      settings.algorithm = cipher.algorithm
    }
    return settings
  }

  /// Returns the location of the only operand.
  func onlyLocation() throws -> StoreLocation {
    let locations = try locations(directoriesAreStores: true)
    guard locations.count == 1, let location = locations.first else {
      throw Command.mistake("'\(command.rawValue)' needs one STORE: \(command.usage).", command)
    }
    guard location.isEncrypted || !location.keepsSecrets else {
      throw Command.mistake("\(location.description.oneLine()) protects its values already, in its own way.", command)
    }
    return location.unencrypted.expandingTilde
  }
}

extension StorageEngine {
  /// Throws if the store is encrypted in another manner than the options state, which never changes.
  func requireSettings(_ settings: EncryptionSettings?) throws {
    guard let settings, let ring = self.as(EncryptedEngine.self)?.keyRing else { return }
    try ring.requireSettings(settings, of: description)
  }
}

extension KeyRing {
  /// Throws if a store is encrypted in another manner than the options state, which never changes.
  func requireSettings(_ settings: EncryptionSettings, of store: String) throws {
    guard self.settings != settings else { return }
    throw CommandError(
      .failure, StorageError.Code.unsupported.description, "The store is encrypted already, in another manner.",
      advice: "Copy it into a new one: coffer cp FROM encrypted:TO. Nothing was changed.", store: store)
  }
}
