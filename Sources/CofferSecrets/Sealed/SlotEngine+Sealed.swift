import CofferCore
public import CofferEncryption
import CofferFileSystem
public import CofferFiles
import CofferSQLite
public import Foundation

extension SlotEngine {
  /// Opens a sealed file: a store that keeps all secrets in one file, encrypted with a passphrase, for machines without
  /// a desktop's keyring.
  ///
  /// ```swift
  /// let engine = try await SlotEngine.sealed(
  ///   at: URL(fileURLWithPath: "/var/lib/shop/secrets.sealed"), passphrase: .systemdCredential("shop-secrets"))
  /// try await TypedStore(engine: engine).save(token, for: "api-token")
  /// ```
  ///
  /// The passphrase unlocks a random data key by means of scrypt (RFC 7914; 128 MiB and about half a second), and the
  /// data key encrypts all values with AES-256-GCM (NIST SP 800-38D). A wrong passphrase is an error, never an empty
  /// store. Every commit replaces the whole file atomically, so store little besides secrets in it. Any number of
  /// processes can use it. The journal, in `<file>.coffer`, contains the names of the keys and no part of the values.
  /// - Parameters:
  ///   - file: the file, created with mode 0600 if it is missing, and its directory with mode 0700, unless the
  ///     configuration disables that.
  ///   - passphrase: the source of the passphrase, which is read once. A terminal prompts twice for a new store.
  ///   - configuration: the options of the store. Values are limited to 64 KiB.
  ///   - limits: the maximum cost of trying the passphrase. The actual cost is recorded in the file.
  /// - Throws: `StorageError`: `wrongPassphrase`, `damaged`, `notAStore`, `newerFormat`, `notFound`,
  ///   `unsupported` for a cost beyond the limits, `permissionDenied`, `diskFull`, and the errors of the passphrase
  ///   source.
  public static func sealed(
    at file: URL, passphrase: PassphraseSource, configuration: SlotEngine.Configuration = SlotEngine.Configuration(),
    limits: PassphraseLimits = PassphraseLimits()
  ) async throws -> SlotEngine {
    try await sealed(at: file, passphrase: passphrase, configuration: configuration, limits: limits, cost: .standard)
  }

  /// Opens the sealed file at a path, as for a URL.
  /// - Throws: The errors of opening a URL.
  public static func sealed(
    at path: String, passphrase: PassphraseSource, configuration: SlotEngine.Configuration = SlotEngine.Configuration(),
    limits: PassphraseLimits = PassphraseLimits()
  ) async throws -> SlotEngine {
    try await sealed(
      at: .file(atPath: path), passphrase: passphrase, configuration: configuration, limits: limits)
  }

  /// Opens a sealed file, with the given cost if it is created; tests use a low one.
  package static func sealed(
    at file: URL, passphrase: PassphraseSource, configuration: SlotEngine.Configuration = SlotEngine.Configuration(),
    limits: PassphraseLimits = PassphraseLimits(), cost: ScryptCost
  ) async throws -> SlotEngine {
    let location = try SealedFile(file)
    return try await configuration.events.opening(at: location.description, isReadOnly: \.isReadOnly) {
      try await sealed(location, passphrase, configuration, limits, cost)
    }
  }

  private static func sealed(
    _ location: SealedFile, _ passphrase: PassphraseSource, _ configuration: SlotEngine.Configuration,
    _ limits: PassphraseLimits, _ cost: ScryptCost
  ) async throws -> SlotEngine {
    if let reading = try await runBlocking({ try readOnly(location, passphrase, configuration.forSecrets, limits) }) {
      return reading
    }
    let slots = try await runBlocking {
      try DocumentSlots.sealed(location, passphrase, configuration.forSecrets, cost, limits)
    }
    return try await open(
      slots, journalIn: location.control, name: location.description, configuration: configuration.forSecrets)
  }

  /// Opens an existing sealed file for reading only if it cannot be written or if the configuration demands it, and
  /// otherwise returns `nil`.
  private static func readOnly(
    _ location: SealedFile, _ passphrase: PassphraseSource, _ configuration: SlotEngine.Configuration,
    _ limits: PassphraseLimits
  ) throws -> SlotEngine? {
    guard let reason = configuration.reasonToOnlyRead(control: location.control),
      try configuration.access == .readOnly || location.exists()
    else { return nil }
    let format = try location.open(passphrase, mayCreate: false, cost: .standard, limits: limits)
    let slots = try DocumentSlots(
      format, at: location.path, control: location.control, name: location.description,
      maximumValueSize: configuration.maximumValueSize, isReadOnly: true, onDamage: configuration.common.emit)
    return try SlotEngine(
      readOnly: slots, journalIn: location.control, name: location.description, configuration: configuration,
      because: reason)
  }

  /// Changes the passphrase of a sealed file. The data key stays the same: anyone who has the old passphrase and an
  /// earlier copy of the file can still read that copy and, with its data key, all later ones.
  /// - Throws: `unsupported` on any other store, and the errors of the passphrase source. The old passphrase is valid
  ///   until this returns.
  public func changePassphrase(to passphrase: PassphraseSource) async throws {
    try await changePassphrase(to: passphrase, cost: .standard)
  }

  package func changePassphrase(to passphrase: PassphraseSource, cost: ScryptCost) async throws {
    guard let slots = slots as? DocumentSlots<SealedFormat> else {
      throw StorageError.unsupported("passphrases", advice: "Only a sealed file has one.", location: description)
    }
    if let obstacleToWriting { throw obstacleToWriting }
    let secret = try await runBlocking { try passphrase.read(confirming: true) }
    let format = slots.format
    let header = try await runBlocking { try format.header(with: secret, cost: cost) }
    try await alone { try slots.change { $0.header = header } }
  }
}

extension DocumentSlots where Format == SealedFormat {
  fileprivate static func sealed(
    _ location: SealedFile, _ passphrase: PassphraseSource, _ configuration: SlotEngine.Configuration,
    _ cost: ScryptCost,
    _ limits: PassphraseLimits
  ) throws -> DocumentSlots {
    let format = try location.open(passphrase, mayCreate: configuration.createsIfMissing, cost: cost, limits: limits)
    try OpenDirectory.make(location.control)
    return try DocumentSlots(
      format, at: location.path, control: location.control, name: location.description,
      maximumValueSize: configuration.maximumValueSize, onDamage: configuration.common.emit)
  }
}

extension SlotEngine.Configuration {
  /// The configuration with values limited to 64 KiB, since a keyring or a sealed file is rewritten as a whole for each
  /// change.
  var forSecrets: SlotEngine.Configuration {
    var configuration = self
    configuration.maximumValueSize = min(maximumValueSize, 64 << 10)
    return configuration
  }
}
