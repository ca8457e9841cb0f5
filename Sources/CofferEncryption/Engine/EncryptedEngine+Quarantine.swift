public import CofferCore
import CofferCrypto
public import Foundation

extension EncryptedEngine: QuarantiningEngine {
  private var kept: KeptValues { KeptValues(base: base, cipher: cipher) }

  /// Returns a description of everything in the quarantine of the store, and of the values that did not open and were
  /// kept before they were replaced.
  public func quarantinedValues() async throws -> [QuarantinedValue] {
    var values: [QuarantinedValue] = []
    for value in try await base.quarantine?.quarantinedValues() ?? [] {
      values.append(
        QuarantinedValue(
          id: value.id, key: await name(ofQuarantined: value.key), date: value.date, size: value.size,
          reason: value.reason))
    }
    for item in try await kept.items() {
      values.append(
        QuarantinedValue(
          id: item.id, key: await name(ofQuarantined: item.storedKey), date: Date(unixMilliseconds: item.date),
          size: capabilities.contains(.secrecy) ? nil : item.size, reason: .damagedValue))
    }
    return values.sorted { $0.date < $1.date }
  }

  /// Returns quarantined bytes: decrypted if they still open, otherwise the encrypted ones.
  public func quarantinedBytes(_ id: String) async throws -> Data {
    if let item = try await kept.items().first(where: { $0.id == id }), let bytes = try await kept.bytes(item) {
      return bytes
    }
    guard let quarantine = base.quarantine else { throw StorageError.notQuarantined(id, location: description) }
    let bytes = try await quarantine.quarantinedBytes(id)
    let stored = try await quarantine.quarantinedValues().first { $0.id == id }?.key
    guard let name = await name(ofQuarantined: stored) else { return bytes }
    // The quarantine has no attributes, so only a value without any of its own can open.
    return (try? cipher.openBare(bytes, of: name)) ?? bytes
  }

  public func removeQuarantined(_ ids: [String]) async throws {
    let mine = Set(try await kept.items().map(\.id)).intersection(ids)
    if !mine.isEmpty { try await kept.remove(Array(mine)) }
    let others = ids.filter { !mine.contains($0) }
    if !others.isEmpty { try await base.quarantine?.removeQuarantined(others) }
  }

  /// Returns a report of the damaged value of a key, whose bytes are in the quarantine when this returns. A value whose
  /// encryption key is missing, or that is stored in plain, is not damaged.
  public func damage(of key: StoreKey) async throws -> DamageReport? {
    let cipher = cipher
    for stored in try cipher.storedKeys(of: key) {
      let found = try await renaming([key], cipher) { try await base.quarantine?.damage(of: stored) }
      if let found { return report(key, found.revision, found.size, found.quarantineID) }
      guard let entry = try await renaming([key], cipher, { try await base.entry(stored) }) else { continue }
      do {
        _ = try await opening { try $0.open(entry, of: key) }
        return nil
      } catch let error as StorageError where error.code == .damaged {
        let item = try await kept.keep(entry, now: clock.now())
        return report(key, entry.revision, entry.value.count, item.id)
      } catch let error as StorageError where [.keyUnavailable, .newerFormat, .notEncrypted].contains(error.code) {
        return nil
      }
    }
    return nil
  }

  /// Seals the kept values again with the primary key, as a rotation needs before it removes the others.
  package func resealKeptValues() async throws { try await kept.reseal() }

  private func report(_ key: StoreKey, _ revision: StoreRevision, _ size: Int?, _ id: String?) -> DamageReport {
    DamageReport(
      key: key, revision: revision, size: capabilities.contains(.secrecy) ? nil : size, location: description,
      quarantineID: id)
  }

  /// Returns the name of a key in the quarantine; `nil` if it is not known.
  private func name(ofQuarantined key: StoreKey?) async -> StoreKey? {
    guard let key, let names = cipher.names else { return key }
    if let name = names.knownName(of: key) { return name }
    guard let summary = try? await base.summary(of: key) else { return nil }
    return try? cipher.name(of: key, summary.attributes)
  }
}
