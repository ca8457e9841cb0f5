import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferTesting
import Foundation

/// The stores that are encrypted.
enum BaseStore: String, CaseIterable {
  case memory, sqlite, file, prefs

  /// Opens the store in a directory.
  func open(
    in directory: URL, maximumValueSize: Int? = nil, journalRetention: Int? = nil, clock: StoreClock = .system
  ) async throws -> any StorageEngine {
    switch self {
    case .memory:
      return MemoryEngine(
        clock: clock, maximumValueSize: maximumValueSize ?? 1 << 30, journalCapacity: journalRetention ?? 4_096)
    case .sqlite:
      var configuration = SQLiteEngine.Configuration()
      configuration.maximumValueSize = maximumValueSize ?? 1 << 30
      configuration.clock = clock
      if let journalRetention { configuration.journalRetention = journalRetention }
      return try await SQLiteEngine.open(
        at: directory.appendingPathComponent("store.db").path, configuration: configuration)
    case .file, .prefs:
      var configuration = SlotEngine.Configuration()
      configuration.maximumValueSize = maximumValueSize ?? 16 << 20
      configuration.clock = clock
      if let journalRetention { configuration.journalRetention = journalRetention }
      if self == .file { return try await SlotEngine.files(in: directory, configuration: configuration) }
      let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") {
        $0 == "XDG_CONFIG_HOME" ? directory.path : nil
      }
      return try await SystemDirectories.$current.withValue(system) { [configuration] in
        try await SlotEngine.preferences(suite: "com.example.shop", configuration: configuration)
      }
    }
  }

  /// Returns the conformance suite of the encrypted store.
  func conformance(_ settings: EncryptionSettings) -> StorageConformance {
    var options = StorageConformance.Options(
      commitsToOutrunJournal: 200, commitsAtCreation: 1, largeValueSize: 1 << 20, largeBatchSteps: 400)
    if self != .memory { options.handles = .openAgain }
    return StorageConformance(name: "encrypted \(rawValue)", options: options) { location in
      let limit = location.maximumValueSize.map { $0 + 1_000 }
      let base = try await open(in: location.directory, maximumValueSize: limit, journalRetention: 64)
      return try await base.encrypted(settings)
    }
  }
}

extension StorageEngine {
  /// Returns the engine behind an encryption with a known root key.
  /// - Parameter acceptsUnfinished: whether it serves while an encryption or decryption is unfinished; by default, if
  ///   the store may hold plain values.
  func encrypted(
    _ settings: EncryptionSettings = EncryptionSettings(), seed: String = "root",
    only isEncrypted: (@Sendable (KeyName) -> Bool)? = nil, ifMissing missing: KeyRingStore.Missing? = nil,
    acceptsUnfinished: Bool? = nil, label: String? = nil
  ) async throws -> EncryptedEngine {
    var configuration = EncryptedEngine.Configuration(settings: settings, only: isEncrypted)
    configuration.label = label
    configuration.acceptsUnfinished = acceptsUnfinished ?? (missing == .createForPlainValues)
    return try await EncryptedEngine.open(self, ifMissing: missing, configuration: configuration) { _ in
      try .forTests(seed)
    }
  }
}

extension StorageEngine {
  /// Encrypts the values of this engine under a known root key.
  func encrypting(_ settings: EncryptionSettings) async throws -> (EncryptedEngine, KeyRotation) {
    let engine = try await encrypted(settings, ifMissing: .createForPlainValues)
    return (engine, try await engine.encryptPlainValues())
  }
}

extension EncryptionSettings {
  /// Hidden names.
  static let hidden = EncryptionSettings(hidesNames: true)
  /// Everything that can be hidden.
  static let secret = EncryptionSettings(algorithm: .chaCha20Poly1305, hidesNames: true, padsValues: true)
}
