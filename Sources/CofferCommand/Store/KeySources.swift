import Coffer
import CofferEncryption
import CofferSecrets
import CofferTerminal
import Foundation

/// The sources of the key of an encrypted store: key material or a passphrase, as the key ring of the store states.
///
/// No argument and no environment variable contains material, since other users or child processes can read those.
struct KeySources: Sendable {
  /// The name of the systemd credential with key material: `LoadCredential=coffer-key:...`
  static let credential = "coffer-key"

  /// The options that name sources.
  struct Options: Sendable {
    let keyFile, keyItem, passphraseFile, label: Option

    static let first = Options(
      keyFile: .keyFile, keyItem: .keyItem, passphraseFile: .passphraseFile, label: .label)
    static let second = Options(
      keyFile: .toKeyFile, keyItem: .toKeyItem, passphraseFile: .toPassphraseFile, label: .toLabel)

    var ofMaterial: [Option] { [keyFile, keyItem] }
    var all: [Option] { ofMaterial + [passphraseFile] }
  }

  private(set) var passphrases: Passphrases
  /// The label that an option states; `nil` for the one that a store has by default.
  var label: String?

  /// The key material that an option names.
  private var material: RootKeySource?
  private let keyFile: SecretFile?
  private let options: Options
  private let isForSeveralStores: Bool

  /// - Parameters:
  ///   - forSeveralStores: whether the command uses several stores, one of which may have a key and another one a
  ///     passphrase.
  ///   - requiringFiles: whether a named file that does not exist is an error of usage.
  /// - Throws: `CommandError` also for sources that exclude each other.
  init(
    _ invocation: Invocation, _ options: Options = .first, forSeveralStores: Bool = false, requiringFiles: Bool = true
  ) throws {
    for option in options.all {
      if invocation.values(option).count > 1 {
        throw Command.mistake("\(option.name) is given twice.", invocation.command)
      }
    }
    let given = (forSeveralStores ? options.ofMaterial : options.all).filter { invocation.has($0) }
    guard given.count < 2 else {
      throw Command.mistake("Give \(given[0].name) or \(given[1].name), not both.", invocation.command)
    }
    self.options = options
    label = invocation.options[options.label]
    isForSeveralStores = forSeveralStores
    passphrases = Passphrases(invocation, file: options.passphraseFile)
    keyFile = invocation.options[options.keyFile].map { SecretFile(path: $0, content: .key) }
    if requiringFiles { for file in [keyFile, passphrases.file] { try file?.refuseIfMissing() } }
    // Each source is read once for the whole command: a pipe provides a key only once.
    if let keyFile {
      material = .keyMaterial(PassphraseSource.file(URL(fileURLWithPath: keyFile.path)).readOnce())
    } else {
      material = try invocation.options[options.keyItem].map { try .item($0, options.keyItem, invocation.command) }
    }
  }

  /// Whether an option names a source.
  var areNamed: Bool { material != nil || passphrases.areNamed }

  /// Whether an option names a key that a store does not use.
  /// - Parameters:
  ///   - usesMaterial: whether the store is opened with key material.
  ///   - usesPassphrase: whether it is opened with a passphrase.
  func areLeft(usesMaterial: Bool, usesPassphrase: Bool) -> Bool {
    material != nil && !usesMaterial || passphrases.areNamed && !usesPassphrase
  }

  /// Whether a key is available without a prompt for a store that needs the given kind.
  func areGiven(for ring: StoredKeyRingFacts) -> Bool {
    // Of several stores, one of the other kind may be that of another store; for one store the key ring reports it.
    if areNamed, !isForSeveralStores { return true }
    return ring.needsPassphrase ? passphrases.areGiven : material != nil || hasCredential
  }

  /// Whether systemd has passed the present key of a store, which is never a new one.
  private var hasCredential: Bool { options.keyFile == .keyFile && Passphrases.hasCredential(Self.credential) }

  /// Returns the source of the key.
  /// - Parameters:
  ///   - ring: what the key ring states; `nil` for a store that receives one.
  ///   - store: the location of the store, for messages and the prompt.
  /// - Throws: An error that names the possible sources when there is none.
  func source(for ring: StoredKeyRingFacts?, of store: String) throws -> RootKeySource {
    // A source of the wrong kind is reported by the key ring.
    let passphrase = { try RootKeySource.passphrase(passphrases.source(for: store)) }
    guard let ring else { return try newSource(of: store) }
    if ring.needsPassphrase {
      if passphrases.areNamed { return try passphrase() }
      if let material, !isForSeveralStores { return material }
      guard passphrases.areGiven || Passphrases.mayAsk else { throw missing(ring, store) }
      return try passphrase()
    }
    if let material { return material }
    if passphrases.areNamed, !isForSeveralStores { return try passphrase() }
    guard hasCredential else { throw missing(ring, store) }
    return .systemdCredential(Self.credential)
  }

  private func newSource(of store: String) throws -> RootKeySource {
    if let material { return material }
    if !passphrases.areNamed, hasCredential { return .systemdCredential(Self.credential) }
    guard passphrases.areGiven || Passphrases.mayAsk else { throw missing(nil, store) }
    return .passphrase(try passphrases.source(for: store, prompt: "New passphrase"))
  }

  private func missing(_ ring: StoredKeyRingFacts?, _ store: String) -> CommandError {
    let (material, passphrase) = (
      "\(options.keyFile.name) PATH, \(options.keyItem.name) SERVICE, or the systemd credential '\(Self.credential)'",
      "\(options.passphraseFile.name) PATH, or the systemd credential '\(Passphrases.credential)'"
    )
    let (what, advice) =
      switch ring?.needsPassphrase {
      case true?: ("The store is encrypted under a passphrase, and none was given.", "Give \(passphrase).")
      case false?: ("The store is encrypted, and no key was given.", "Give \(material).")
      case nil:
        (
          "The store needs a key or a passphrase, and none was given.",
          "Give \(options.keyFile.name) PATH, \(options.keyItem.name) SERVICE or \(options.passphraseFile.name) PATH."
        )
      }
    return CommandError(.failure, "keyMissing", what, advice: advice, store: store)
  }

  /// Returns the error for a value that needs the key of the store.
  func missing(for key: KeyName, _ ring: StoredKeyRingFacts, _ store: String) -> StorageError {
    let error = missing(ring, store)
    return StorageError(
      .keyUnavailable, "The value is encrypted, and no key was given.", advice: error.advice, location: store, key: key)
  }

  /// Opens the key ring of a store without repairing it, and so checks the key.
  /// - Parameters:
  ///   - source: the source of the key; by default the one that the key ring needs.
  ///   - label: the label of the store if no option states one; by default that of its location.
  /// - Throws: `wrongPassphrase`; the other errors of the key ring and of the source.
  func openRing(
    _ stored: StoredKeyRingFacts, of engine: any StorageEngine, with source: RootKeySource? = nil,
    label other: String? = nil
  ) async throws -> KeyRing {
    let source = try source ?? self.source(for: stored, of: engine.description)
    return try await KeyRingStore(ReadOnlyEngine(engine), label: label ?? other).open(
      with: source, settings: EncryptionSettings(), ifMissing: .refuse
    ).ring
  }

  /// Returns the doctor's findings about the named files, and the sources without those with a problem: the error of
  /// each store that is opened with one would say the same.
  func examined() -> (sources: KeySources, findings: [Finding]) {
    var usable = self
    let ofKey = keyFile?.findings() ?? []
    if ofKey.contains(where: { $0.verdict == .problem }) { usable.material = nil }
    let ofPassphrase = passphrases.file?.findings() ?? []
    if ofPassphrase.contains(where: { $0.verdict == .problem }) { usable.passphrases = passphrases.withoutFile }
    return (usable, ofKey + ofPassphrase)
  }
}

extension RootKeySource {
  /// The key in an item of the keyring, which an option names as a keychain is named: SERVICE[@GROUP].
  fileprivate static func item(_ name: String, _ option: Option, _ command: Command) throws -> RootKeySource {
    guard case .keychain(let service, let group) = try StoreLocation(parsing: "keychain:\(name)") else {
      throw Command.mistake("\(option.name) takes SERVICE or SERVICE@GROUP.", command)
    }
    var configuration = KeychainConfiguration()
    configuration.allowsPlainSession = allowsPlainKeyring
    configuration.allowsPrompts = allowsKeyringPrompts
    return .provider(
      KeychainKeyProvider(service: service, accessGroup: group, configuration: configuration), named: "encryption-key")
  }
}
