import CofferCore
public import CofferEncryption
import CofferFiles
public import Foundation

/// An anchor of an encrypted store in the system's keychain, on Linux the desktop's keyring.
///
/// ```swift
/// configuration.rollbackProtection = RollbackProtection(anchor: KeychainAnchor(service: "com.example.shop"))
/// ```
///
/// The keyring's file is in the home directory of the user: an older copy of the whole directory brings back an older
/// anchor as well. A locked or missing keyring is `unavailable`, and the store is not opened then. Other programs of
/// the user can remove the item, which is noticed, or put back an older one, which is not.
public struct KeychainAnchor: RollbackAnchor {
  /// The maximum number of attempts of an update when other processes write the item first.
  private static let attempts = 64

  private let service: String
  private let item: String
  private let configuration: KeychainConfiguration

  /// Creates an anchor. Nothing is opened yet.
  /// - Parameters:
  ///   - service: the service that the item belongs to, 1 to 256 bytes.
  ///   - item: the name of the item, which belongs to one store.
  ///   - configuration: the options of the keychain.
  public init(
    service: String, item: String = "encryption-anchor", configuration: KeychainConfiguration = KeychainConfiguration()
  ) {
    self.service = service
    self.item = item
    self.configuration = configuration
  }

  public var description: String {
    "keychain:\(service.escapingControlCharacters), item '\(item.escapingControlCharacters)'"
  }

  public func record() async throws -> Data? {
    let key = try KeyName(item)
    return try await withEngine { try await $0.entry(key)?.value }
  }

  public func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    let key = try KeyName(item)
    try await withEngine { engine in
      for _ in 0..<Self.attempts {
        let entry = try await engine.entry(key)
        guard let next = try change(entry?.value) else { return }
        do {
          try await engine.commit(WriteBatch([.require(key, entry?.revision), .put(key, next)]), from: StoreOrigin())
          return
        } catch let error as StorageError where error.code == .preconditionFailed {}
      }
      throw StorageError(
        .busy, "Other processes keep writing the anchor.", advice: "Try again.", location: description)
    }
  }

  private func withEngine<R: Sendable>(_ body: (SlotEngine) async throws -> R) async throws -> R {
    try await SlotEngine.withKeychain(service: service, configuration: configuration, body)
  }
}

extension SlotEngine {
  /// Opens a keychain for the duration of a call.
  static func withKeychain<R: Sendable>(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration,
    _ body: (SlotEngine) async throws -> R
  ) async throws -> R {
    let engine = try await keychain(service: service, accessGroup: accessGroup, configuration: configuration)
    do {
      let result = try await body(engine)
      try await engine.close()
      return result
    } catch {
      try? await engine.close()
      throw error
    }
  }
}
