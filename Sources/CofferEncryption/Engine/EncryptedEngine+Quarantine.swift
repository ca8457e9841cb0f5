public import CofferCore
public import Foundation

/// The quarantine of the store, with the names that callers know.
///
/// A value that does not open is intact for the store, which therefore has no copy of it. Its envelope is put into the
/// quarantine as it is: it contains nothing that the store did not contain, and needs no key to be kept.
extension EncryptedEngine: QuarantiningEngine {
  public func quarantinedValues() async throws -> [QuarantinedValue] {
    var values: [QuarantinedValue] = []
    for value in try await base.quarantine?.quarantinedValues() ?? [] {
      values.append(
        QuarantinedValue(
          id: value.id, key: await name(ofQuarantined: value.key), date: value.date,
          size: capabilities.contains(.secrecy) ? nil : value.size, reason: value.reason))
    }
    return values
  }

  /// Returns quarantined bytes: decrypted if they still open, otherwise the encrypted ones.
  public func quarantinedBytes(_ id: String) async throws -> Data {
    guard let quarantine = base.quarantine else { throw StorageError.notQuarantined(id, location: description) }
    let bytes = try await quarantine.quarantinedBytes(id)
    let stored = try await quarantine.quarantinedValues().first { $0.id == id }?.key
    guard let name = await name(ofQuarantined: stored) else { return bytes }
    // The quarantine has no attributes, so only a value without any of its own can open.
    return (try? cipher.openBare(bytes, of: name)) ?? bytes
  }

  public func removeQuarantined(_ ids: [String]) async throws { try await base.quarantine?.removeQuarantined(ids) }

  /// Returns a report of the damaged value of a key, whose bytes are in the quarantine when this returns. A value whose
  /// encryption key is missing, or that is stored in plain, is not damaged.
  /// - Throws: also `unsupported` if the store has no quarantine.
  public func damage(of key: KeyName) async throws -> DamageReport? {
    let cipher = cipher
    let stored = try cipher.storedKey(of: key)
    let found = try await renaming([key], cipher) { try await base.quarantine?.damage(of: stored) }
    if let found { return report(key, found.revision, found.size, found.quarantineID) }
    guard let entry = try await renaming([key], cipher, { try await base.entry(stored) }) else { return nil }
    do { _ = try await opening { try $0.open(entry, of: key) } } catch let error as StorageError
      where [.damaged, .keyUnavailable, .newerFormat, .notEncrypted].contains(error.code)
    {
      return error.code == .damaged ? try await keep(entry, of: key, cipher) : nil
    }
    return nil
  }

  /// Puts an envelope that does not open into the quarantine; `nil` if it was replaced meanwhile.
  private func keep(_ entry: StoreEntry, of name: KeyName, _ cipher: StoreCipher) async throws -> DamageReport? {
    guard let quarantine = base.quarantine as? any EntryQuarantiningEngine else {
      throw StorageError.unsupported(
        "a quarantine", advice: "The value stays as it is. Write the key again to replace it.", location: description)
    }
    do {
      let id = try await renaming([name], cipher) { try await quarantine.quarantine(entry) }
      return report(name, entry.revision, entry.value.count, id)
    } catch let error as StorageError where error.code == .preconditionFailed {
      return nil
    }
  }

  private func report(_ key: KeyName, _ revision: StoreRevision, _ size: Int?, _ id: String?) -> DamageReport {
    DamageReport(
      key: key, revision: revision, size: capabilities.contains(.secrecy) ? nil : size, location: description,
      quarantineID: id)
  }

  /// Returns the name of a key in the quarantine; `nil` if it is not known.
  private func name(ofQuarantined key: KeyName?) async -> KeyName? {
    guard let key, let names = cipher.names else { return key }
    if let name = names.knownName(of: key) { return name }
    guard let summary = try? await base.summary(of: key) else { return nil }
    return try? cipher.name(of: key, summary.attributes)
  }
}
