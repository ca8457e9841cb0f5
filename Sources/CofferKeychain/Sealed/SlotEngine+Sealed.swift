import CofferCore
public import CofferCrypto
import CofferFileSystem
import CofferSQLite
public import CofferSlots
public import Foundation

extension SlotEngine {
  /// Opens a sealed file: all secrets in one file, under a passphrase, for machines without a desktop's keyring.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.sealed(
  ///   at: URL(fileURLWithPath: "/var/lib/shop/secrets.sealed"), passphrase: .systemdCredential("shop-secrets"))
  /// try await TypedStore(engine: engine).save(token, for: "api-token")
  /// ```
  ///
  /// The passphrase opens, through scrypt (RFC 7914; 128 MiB and about half a second), a random key, and that key seals
  /// everything with AES-256-GCM (NIST SP 800-38D). A wrong passphrase is an error, never an empty store. Every commit
  /// replaces the file atomically, so keep secrets in it and not much else; any number of processes can use it.
  /// The journal is in `<file>.coffer`; it holds the names of the keys and nothing of the values.
  /// - Parameters:
  ///   - file: made if it is missing (0600), with its directory (0700), unless the configuration says otherwise.
  ///   - passphrase: where it is read, once. A terminal is asked twice for a new store.
  ///   - configuration: how it is opened. Values are limited to 64 KiB.
  ///   - limits: what trying the passphrase may cost; the file says what it does cost.
  /// - Throws: `StorageError`: `wrongPassphrase`, `damaged`, `notAStore`, `newerFormat`, `notFound`,
  ///   `unsupported` for a cost beyond the limits, `permissionDenied`, `diskFull`, and what the source of the
  ///   passphrase throws.
  public static func sealed(
    at file: URL, passphrase: PassphraseSource, configuration: SlotConfiguration = SlotConfiguration(),
    limits: PassphraseLimits = PassphraseLimits()
  ) async throws -> SlotEngine {
    try await sealed(at: file, passphrase: passphrase, configuration: configuration, limits: limits, cost: .standard)
  }

  /// The same with a cost of trying a passphrase that tests can bear.
  package static func sealed(
    at file: URL, passphrase: PassphraseSource, configuration: SlotConfiguration = SlotConfiguration(),
    limits: PassphraseLimits = PassphraseLimits(), cost: ScryptCost
  ) async throws -> SlotEngine {
    let place = try SealedFile(file)
    if let reading = try await beside({ try readOnly(place, passphrase, configuration.forSecrets, limits) }) {
      return reading
    }
    let slots = try await beside { try DocumentSlots.sealed(place, passphrase, configuration.forSecrets, cost, limits) }
    return try await open(
      slots, journalIn: place.control, name: place.description, configuration: configuration.forSecrets)
  }

  /// Opens a sealed file that is there and cannot be written; `nil` for others.
  private static func readOnly(
    _ place: SealedFile, _ passphrase: PassphraseSource, _ configuration: SlotConfiguration,
    _ limits: PassphraseLimits
  ) throws -> SlotEngine? {
    guard let reason = SlotObstacle.reason(control: place.control), try place.exists() else { return nil }
    let format = try place.open(passphrase, mayCreate: false, cost: .standard, limits: limits)
    let slots = try DocumentSlots(
      format, at: place.path, control: place.control, name: place.description,
      maximumValueSize: configuration.maximumValueSize, isReadOnly: true, onDamage: configuration.onDamage)
    return try SlotEngine(
      readOnly: slots, journalIn: place.control, name: place.description, configuration: configuration, because: reason)
  }

  /// Gives a sealed file another passphrase. The secrets are not sealed again: who knew the old passphrase and has kept
  /// a copy of the file can still read that copy.
  /// - Throws: `unsupported` on any other store; what the source of the passphrase throws. The old passphrase is valid
  ///   until this returns.
  public func changePassphrase(to passphrase: PassphraseSource) async throws {
    try await changePassphrase(to: passphrase, cost: .standard)
  }

  package func changePassphrase(to passphrase: PassphraseSource, cost: ScryptCost) async throws {
    guard let slots = slots as? DocumentSlots<SealedFormat> else {
      throw StorageError.unsupported("passphrases", advice: "Only a sealed file has one.", backend: description)
    }
    let secret = try await beside { try passphrase.read(confirming: true) }
    let format = slots.format
    let header = try await beside { try format.header(with: secret, cost: cost) }
    try await alone { try slots.change { $0.header = header } }
  }
}

extension DocumentSlots where Format == SealedFormat {
  fileprivate static func sealed(
    _ place: SealedFile, _ passphrase: PassphraseSource, _ configuration: SlotConfiguration, _ cost: ScryptCost,
    _ limits: PassphraseLimits
  ) throws -> DocumentSlots {
    let format = try place.open(passphrase, mayCreate: configuration.createsIfMissing, cost: cost, limits: limits)
    try OpenDirectory.make(place.control)
    return try DocumentSlots(
      format, at: place.path, control: place.control, name: place.description,
      maximumValueSize: configuration.maximumValueSize, onDamage: configuration.onDamage)
  }
}

extension SlotConfiguration {
  /// A keyring and a sealed file are rewritten as a whole for each secret.
  var forSecrets: SlotConfiguration {
    var configuration = self
    configuration.maximumValueSize = min(maximumValueSize, 64 << 10)
    return configuration
  }
}
