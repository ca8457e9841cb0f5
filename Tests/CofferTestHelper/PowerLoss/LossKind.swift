import Coffer
import CofferEncryption
import CofferTestSupport
import Foundation

/// A kind of store, or a command on one, in the middle of which power is lost.
enum LossKind: String {
  case sqlite, files, preferences, sealed
  case encryptedSQLite = "encrypted-sqlite"
  case encryptedFiles = "encrypted-files"
  case migration, encrypt, rotate, rekey, backup, restore, expiry
  case commandSet = "coffer-set"
  case commandCopy = "coffer-cp"
  case commandEncrypt = "coffer-encrypt"
  case commandRestore = "coffer-restore"

  /// Whether all steps are commands of `coffer`, each a process of its own.
  var isOfCommands: Bool { rawValue.hasPrefix("coffer-") }

  var base: SweptKind {
    switch self {
    case .files, .encryptedFiles, .commandSet, .commandEncrypt: .files
    case .preferences: .preferences
    case .sealed: .sealed
    default: .sqlite
    }
  }

  /// Opens the store in a directory. Its root key may have been exchanged.
  func open(_ directory: String) async throws -> any StorageEngine {
    switch self {
    case .encryptedSQLite, .encryptedFiles, .rotate: return try await openEncrypted(directory, Self.key)
    case .rekey:
      do { return try await openEncrypted(directory, Self.key) } catch let error as StorageError
        where error.code == .wrongPassphrase
      {
        return try await openEncrypted(directory, Self.newKey)
      }
    case .encrypt, .commandEncrypt:
      let engine = try await base.open(directory).engine
      guard try await engine.record(.keyRing) != nil else { return engine }
      var configuration = EncryptedEngine.Configuration()
      if base == .files { configuration.label = Self.label }
      let key = self == .encrypt ? Self.key : .file(Self.keyFile(directory))
      // Until it is finished, nobody else opens the store.
      _ = try await EncryptedEngine.encrypt(engine, key: key, configuration: configuration).result()
      return try await EncryptedEngine.open(engine, key: key, configuration: configuration)
    default: return try await base.open(directory).engine
    }
  }

  private func openEncrypted(_ directory: String, _ key: RootKeySource) async throws -> any StorageEngine {
    let engine = try await base.open(directory).engine
    var configuration = EncryptedEngine.Configuration()
    if base == .files { configuration.label = Self.label }
    do { return try await EncryptedEngine.open(engine, key: key, configuration: configuration) } catch {
      try? await engine.close()
      throw error
    }
  }

  static let key = RootKeySource.provider(NamedMaterial(), named: "1")
  static let newKey = RootKeySource.provider(NamedMaterial(), named: "2")
  /// The label of a store of files, of which a state is replayed in another directory.
  static let label = "replay"
  /// The key file of a store in a directory.
  static func keyFile(_ directory: String) -> String { (directory as NSString).deletingLastPathComponent + "/key" }

  // MARK: Contents

  typealias Change = (key: String, version: Int?)

  /// The changes of the batches that a process commits, one after the other: keys with versions, `nil` for a removal.
  private static let batches: [[Change]] = [
    [("theme", 0)], [("a b/c", 0), ("list/1", 0), ("list/2", 0), (FileScenario.longKey, 0)],
    [("theme", 1), ("list/1", nil)], [("large", 0)], [("list/3", 0), ("theme", 2)], [("theme", nil), ("a b/c", 1)],
    [(FileScenario.longKey, 1), ("large", 1)], [("list/2", nil), ("list/3", nil), ("emoji/😀", 0)],
  ]

  /// The changes of each step. A command makes one.
  private var steps: [[Change]] { isOfCommands ? Self.batches.joined().map { [$0] } : Self.batches }

  /// Whether power is lost in a command that begins after all steps.
  var hasCommand: Bool {
    switch self {
    case .migration, .encrypt, .rotate, .rekey, .backup, .restore, .expiry: true
    default: isOfCommands && self != .commandSet
    }
  }

  /// The number of steps.
  var count: Int { steps.count }

  /// The path of the database that the values are copied into.
  var copy: String? { self == .backup || self == .commandCopy ? "/copy.db" : nil }

  /// Returns the only change of a step, with its value.
  func change(_ number: Int) -> (key: String, value: Data?) {
    let (key, version) = steps[number][0]
    return (key, version.map { value(key, $0) })
  }

  func batch(_ number: Int) throws -> WriteBatch {
    WriteBatch(
      try steps[number].map { key, version in
        let name = try KeyName(key)
        return version.map { .put(name, value(key, $0)) } ?? .delete(name)
      } as [WriteBatch.Operation])
  }

  /// Returns the values after a number of commits.
  func contents(_ count: Int) -> [String: Data] {
    if self == .migration { return Dictionary(uniqueKeysWithValues: (0..<8).map { ("n/\($0)", Data("[\($0)]".utf8)) }) }
    return steps.prefix(count).joined().reduce(into: [:]) { contents, change in
      contents[change.key] = change.version.map { value(change.key, $0) }
    }
  }

  private func value(_ key: String, _ version: Int) -> Data {
    guard key != "large" else { return Data(repeating: UInt8(version + 65), count: min(9_000, base.largestValue)) }
    return SweepValue.bytes(key, version, largest: base.largestValue)
  }

  /// Returns the values that may be found if power was lost after some acknowledged steps.
  func possible(_ acknowledged: Int) -> [[String: Data]] {
    switch self {
    // The backup has the first four steps.
    case .restore, .commandRestore: acknowledged > count ? [contents(4)] : [contents(count), contents(4)]
    case _ where hasCommand: [contents(count)]
    default: [contents(acknowledged), contents(min(count, acknowledged + 1))]
    }
  }

  /// The schema of the values that are migrated, in its first version or in the newest.
  static func schema(isNewest: Bool) throws -> StoreSchema {
    var schema = StoreSchema()
    let step = MigrationStep(from: 1, to: 2) { (old: String) in [Int(old) ?? 0] }
    if isNewest {
      try schema.declare(prefix: "n/", ValueSchema<[Int]>("numbers", version: 2, steps: [step]))
    } else {
      try schema.declare(prefix: "n/", ValueSchema<String>("numbers", version: 1, steps: []))
    }
    return schema
  }
}

/// Key material that is determined by its name.
private struct NamedMaterial: KeyMaterialProviding {
  func keyMaterial(for source: KeyMaterialSource) async throws -> Data {
    let first = source.id.utf8.first ?? 0
    return Data(first..<(first + 32))
  }
}
