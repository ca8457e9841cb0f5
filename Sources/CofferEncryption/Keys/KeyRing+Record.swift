import CofferCore
package import Foundation

extension KeyRing {
  /// The size in bytes of the parts of a body: what precedes the entries, and one entry.
  private static let (prefixCount, entryCount) = (40, 57)

  /// Returns the record of this ring for a store: the plain header, the body sealed under the root key, and a checksum.
  ///
  /// The record has the next generation; ``KeyRingStore`` replaces this ring with one of that generation.
  /// - Throws: `unsupported` for a label of more than 1,024 bytes.
  package func sealed(under root: RootKey) throws -> Data {
    guard label.utf8.count <= Self.maximumLabelSize else {
      throw StorageError(
        .unsupported, "The label of a store has at most \(Self.maximumLabelSize) bytes.",
        advice: "Give a shorter one. Nothing was changed.")
    }
    let body = try encodedBody()
    let header = KeyRingHeader(
      root, coverage: coverage, storeID: storeID, generation: nextGeneration, bodyCount: body.count + AEAD.overhead)
    let plain = header.bytes
    let cipher = try root.cipher()
    let sealed = try body.withUnsafeBytes { try cipher.seal($0, authenticating: plain) }
    return plain + sealed + KeyRingHeader.checksum(plain + sealed)
  }

  /// The generation of the record that is written next.
  var nextGeneration: UInt64 { generation == .max ? .max : generation + 1 }

  /// Opens a record.
  /// - Throws: `wrongPassphrase` if it is intact and was sealed under another root key; `damaged`, also if it was
  ///   forged; `newerFormat`.
  package static func open(_ record: Data, root: RootKey) throws -> KeyRing {
    let record = Data(record)
    let header = try KeyRingHeader(of: record)
    // The salt and the cost in the header can differ from those that the key was derived with only if the ring was
    // sealed again under another root key meanwhile.
    guard header.rootCheck == root.check, header.derivation == root.derivation else { throw Self.wrongRoot }
    let sealed = record[KeyRingHeader.count..<(KeyRingHeader.count + header.bodyCount)]
    do {
      let body = try root.cipher().openSecret(Data(sealed), authenticating: record.prefix(KeyRingHeader.count))
      return try KeyRing(body, header)
    } catch is AuthenticationFailure {
      throw KeyRingHeader.damaged
    }
  }

  private static var wrongRoot: StorageError {
    StorageError(
      .wrongPassphrase, "The key or passphrase does not open the key ring of the store.",
      advice: "Try again with the right one. Nothing was read or changed.")
  }

  // MARK: The body

  private func encodedBody() throws -> SecretBytes {
    var plain = Data([settings.algorithm.number, settings.flags, phase.rawValue, 0])
    let count = Self.prefixCount + Self.entryCount * entries.count + label.utf8.count
    return try SecretBytes(count: count) { bytes in
      var offset = 0
      func put(_ part: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[offset...].prefix(part.count)).copyMemory(from: part)
        offset += part.count
      }
      plain.withUnsafeBytes { put($0) }
      indexKey.material.withUnsafeBytes { put($0) }
      plain = Data()
      plain.append(number: UInt32(entries.count))
      plain.withUnsafeBytes { put($0) }
      for entry in entries {
        plain = Data([entry.state.rawValue])
        plain.append(number: entry.created.milliseconds)
        plain.append(number: entry.changed?.milliseconds ?? 0)
        plain.append(number: UInt64(0))
        plain.withUnsafeBytes { put($0) }
        if let key = entry.key {
          key.material.withUnsafeBytes { put($0) }
        } else {
          entry.id.bytes.withUnsafeBytes { put($0) }
        }
      }
      Array(label.utf8).withUnsafeBytes { put($0) }
    }
  }

  /// Decodes the body of a record.
  /// - Throws: `damaged`; `newerFormat` for an unknown algorithm, flag, phase or state.
  package init(_ body: SecretBytes, _ header: KeyRingHeader) throws {
    guard body.count >= Self.prefixCount else { throw KeyRingHeader.damaged }
    let (plain, count) = body.withUnsafeBytes { ([UInt8]($0.prefix(4)), Data($0[36..<40]).number(at: 0) as UInt32) }
    let labelStart = Self.prefixCount + Self.entryCount * Int(count)
    guard count <= KeyRing.maximumCount, (0...Self.maximumLabelSize).contains(body.count - labelStart),
      let label = body.withUnsafeBytes({ String(validating: $0.dropFirst(labelStart), as: UTF8.self) })
    else { throw KeyRingHeader.damaged }
    guard let settings = EncryptionSettings(algorithm: plain[0], flags: plain[1]), let phase = Phase(rawValue: plain[2])
    else { throw Self.newer }
    guard plain[3] == 0 else { throw Self.newer }
    try self.init(
      storeID: header.storeID, settings: settings, indexKey: Self.key(in: body, at: 4),
      entries: (0..<Int(count)).map { try Self.entry(in: body, at: Self.prefixCount + Self.entryCount * $0) },
      phase: phase, coverage: header.coverage, label: label, generation: header.generation)
  }

  private static func key(in body: SecretBytes, at offset: Int) throws -> DataKey {
    try DataKey(
      body.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + 32])) })
  }

  private static func entry(in body: SecretBytes, at offset: Int) throws -> KeyRingEntry {
    let plain = body.withUnsafeBytes { Data($0[offset..<offset + 25]) }
    guard let state = KeyRingEntry.State(rawValue: plain[0]) else { throw newer }
    let (first, last): (Int64, Int64) = (plain.number(at: 1), plain.number(at: 9))
    guard first.magnitude <= Date.millisecondLimit, last.magnitude <= Date.millisecondLimit,
      state != .primary || last == 0
    else { throw KeyRingHeader.damaged }
    let created = Date(milliseconds: first)
    let changed = state == .primary ? nil : Date(milliseconds: last)
    guard state == .destroyed else {
      return KeyRingEntry(try key(in: body, at: offset + 25), state, created: created, changed: changed)
    }
    guard let id = KeyID(body.withUnsafeBytes { Data($0[offset + 25..<offset + 57]) }) else {
      throw KeyRingHeader.damaged
    }
    return KeyRingEntry(destroyed: id, created: created, changed: changed)
  }

  private static var newer: StorageError {
    StorageError(
      .newerFormat, "The key ring of the store has contents of a newer version.",
      advice: "Update the program. Nothing was changed.")
  }
}

extension EncryptionAlgorithm {
  /// The number of the algorithm in a key ring.
  fileprivate var number: UInt8 {
    switch self {
    case .aes256: 1
    case .chaCha20Poly1305: 2
    }
  }
}

extension EncryptionSettings {
  private static let (hidingNames, paddingValues) = (UInt8(1), UInt8(2))

  fileprivate var flags: UInt8 { (hidesNames ? Self.hidingNames : 0) | (padsValues ? Self.paddingValues : 0) }

  fileprivate init?(algorithm number: UInt8, flags: UInt8) {
    guard let algorithm = EncryptionAlgorithm.allCases.first(where: { $0.number == number }), flags <= 3 else {
      return nil
    }
    self.init(
      algorithm: algorithm, hidesNames: flags & Self.hidingNames != 0, padsValues: flags & Self.paddingValues != 0)
  }
}
