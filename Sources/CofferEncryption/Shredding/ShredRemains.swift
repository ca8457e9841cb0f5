import CofferCore
import Foundation

/// The values in a store that destroyed keys have encrypted.
struct ShredRemains {
  /// The maximum number of passes in which other writers change the values.
  private static let passes = 64

  let engine: EncryptedEngine
  /// The destroyed keys.
  let keys: [KeyID]
  /// Whether these were all keys, so that an envelope whose header is damaged has lost its key in any case.
  let isEverything: Bool
  let origin: StoreOrigin

  private var base: any StorageEngine { engine.base }

  /// Counts the values, without changing anything.
  func count(_ report: inout ShredReport) async throws {
    try await base.forEachStoredPart { part in
      for found in try await find(in: part).found {
        report.values += 1
        report.bytes += found.size
      }
    }
  }

  /// Removes the values, until a pass finds none.
  func remove(_ report: inout ShredReport) async throws {
    for _ in 0..<Self.passes {
      var (count, conflicts) = (0, 0)
      try await base.forEachStoredPart { part in
        let (found, cipher) = try await find(in: part)
        count += found.count
        conflicts += try await remove(found, under: cipher, &report)
      }
      if count == 0 || conflicts == 0 { return }
    }
    throw StorageError(
      .busy, "Other programs keep changing the values that are being removed.",
      advice: "Their keys are destroyed, so that they cannot be read. The next opening of the store removes them.",
      location: engine.description)
  }

  // MARK: Finding

  private struct Found {
    let key: KeyName
    /// The revision for the precondition of its removal; `nil` if it has expired, which counts as absent.
    let revision: StoreRevision?
    let size: Int
  }

  /// Returns the values that were erased, and the state of the ring that says so. It is read after them: a value
  /// whose key another process has made since the destruction must not be taken for an erased one.
  private func find(in part: [StoreEntry.Summary]) async throws -> (found: [Found], cipher: StoreCipher) {
    // An envelope that another program has changed beside the store may have lost its mark.
    let candidates = engine.encryptsAll ? part : part.filter(\.attributes.isMarked)
    let entries = try await entries(of: candidates)
    let cipher = try await engine.ciphers.reload(after: engine.cipher)
    let now = engine.clock.now()
    var found: [Found] = []
    for (summary, reading) in zip(candidates, entries) where summary.attributes.isMarked || cipher.ring.coverage == .all
    {
      switch reading {
      case .absent: break
      case .entry(let entry):
        guard isErased(entry.value, entry.attributes, cipher.ring) else { continue }
        let isExpired = entry.attributes.isExpired(at: now)
        found.append(Found(key: entry.key, revision: isExpired ? nil : entry.revision, size: entry.value.count))
      case .damaged:
        guard isErased(Data(), summary.attributes, cipher.ring) else { continue }
        // It counts as present although it may have expired.
        found.append(Found(key: summary.key, revision: summary.revision, size: summary.size ?? 0))
      }
    }
    return (found, cipher)
  }

  private enum Reading {
    case absent, damaged
    case entry(StoreEntry)
  }

  private func entries(of part: [StoreEntry.Summary]) async throws -> [Reading] {
    guard !part.isEmpty else { return [] }
    do { return try await readings(of: part.map(\.key)) } catch let error as StorageError where error.code == .damaged {
      var entries: [Reading] = []
      for summary in part {
        do { entries += try await readings(of: [summary.key]) } catch let error as StorageError
          where error.code == .damaged
        {
          entries.append(.damaged)
        }
      }
      return entries
    }
  }

  private func readings(of keys: [KeyName]) async throws -> [Reading] {
    try await base.withAllStored { try await $0.entries(keys) }.map { $0.map { .entry($0) } ?? .absent }
  }

  /// Whether nothing can open an envelope any more.
  /// - Parameter attributes: those of a stored value, whose hidden name has the same key.
  private func isErased(_ envelope: Data, _ attributes: ValueAttributes, _ ring: KeyRing) -> Bool {
    let id = try? EnvelopeHeader(of: envelope).keyID
    // Before the destruction, for a report, the keys are still in the ring.
    if let id, ring.keys[id] != nil, !keys.contains(id) { return false }
    let name = attributes[.sealedName].flatMap { try? EnvelopeHeader(of: Data($0.bytes)).keyID }
    return isEverything || [id, name].contains { $0.map(keys.contains) ?? false }
  }

  /// Returns the ids of the values in the quarantine that were erased. In a store of which only declared keys are
  /// encrypted, one whose header is damaged may be a plain value, and stays.
  func quarantined() async throws -> [String] {
    guard let quarantine = base.quarantine else { return [] }
    var values: [(id: String, bytes: Data)] = []
    for value in try await quarantine.quarantinedValues() {
      let bytes = try? await quarantine.quarantinedBytes(value.id)
      values.append((value.id, bytes?.prefix(Envelope.overhead) ?? Data()))
    }
    let ring = try await engine.ciphers.reload(after: engine.cipher).ring
    return values.filter { value in
      let isEnvelope = (try? EnvelopeHeader(of: value.bytes)) != nil
      return (isEnvelope || ring.coverage == .all) && isErased(value.bytes, .none, ring)
    }.map(\.id)
  }

  // MARK: Removing

  /// Removes values, on the condition that the ring has not changed.
  /// - Returns: the number of those that another writer has changed meanwhile.
  private func remove(_ found: [Found], under cipher: StoreCipher, _ report: inout ShredReport) async throws -> Int {
    guard !found.isEmpty else { return 0 }
    let operations = found.flatMap { value -> [WriteBatch.Operation] in
      [.require(value.key, value.revision), .delete(value.key)]
    }
    do {
      try await engine.store(WriteBatch(cipher.precondition + operations), under: cipher, from: origin)
      report.values += found.count
      report.bytes += found.reduce(0) { $0 + $1.size }
      return 0
    } catch let error as StorageError where error.code == .preconditionFailed {
      guard found.count > 1, try await engine.ciphers.reload(after: cipher) === cipher else { return found.count }
      var conflicts = 0
      for value in found { conflicts += try await remove([value], under: cipher, &report) }
      return conflicts
    }
  }
}
