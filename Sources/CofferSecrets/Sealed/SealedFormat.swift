import CofferCore
import CofferEncryption
import CofferFiles
import Foundation

/// The document format of a sealed file.
struct SealedFormat: DocumentFormat {
  let keepsSecrets = true
  /// The header of the file when it was opened.
  private let header: SealedHeader
  private var storeID: Data { header.storeID }
  private let key: SecretBytes
  private let cipher: AEAD
  private let location: SealedFile?

  /// Creates the format of an open file.
  /// - Parameter key: the data key, which `header` seals.
  init(_ header: SealedHeader, _ key: SecretBytes, at location: SealedFile? = nil) throws {
    self.header = header
    self.location = location
    self.key = key
    cipher = try AEAD(.aes256GCM, key: key)
  }

  /// Returns a header that encrypts the same data key with another passphrase.
  func header(with passphrase: SecretBytes, cost: ScryptCost) throws -> SealedHeader {
    try SealedHeader(sealing: key, of: storeID, with: passphrase, cost: cost)
  }

  /// The document of a new file.
  var empty: SealedDocument { SealedDocument(header: header) }

  /// Throws, since a store is created together with its file: a missing file was lost.
  func missing() throws -> SealedDocument { throw location?.isGone ?? SealedHeader.damaged }

  func decode(_ file: Data) throws -> SealedDocument {
    let header = try Self.header(of: file)
    guard header.storeID == storeID else { throw isAnother }
    do {
      let payload = try cipher.openSecret(Data(file.dropFirst(SealedHeader.size)), authenticating: header.bytes)
      return SealedDocument(header: header, items: try SealedPayload.decode(payload))
    } catch is AuthenticationFailure {
      throw SealedPayload.damaged
    }
  }

  /// Returns the header of the file of an existing store, where an unknown header is damage.
  private static func header(of file: Data) throws(StorageError) -> SealedHeader {
    do { return try SealedHeader(of: file) } catch {
      throw error.code == .notAStore ? SealedHeader.damaged : error
    }
  }

  /// The error for the file of another store. It is not `damaged`, since damage is repaired by overwriting the file.
  private var isAnother: StorageError {
    StorageError(
      .wrongPassphrase, "The sealed file was replaced by one that the passphrase of this handle does not open.",
      advice: "Open the store again. Nothing was changed.")
  }

  func encode(_ document: inout SealedDocument) throws -> Data {
    let payload = try SealedPayload.encode(&document.items)
    let header = document.header
    return try header.bytes + payload.withUnsafeBytes { try cipher.seal($0, authenticating: header.bytes) }
  }

  // MARK: Values

  func keys(of document: SealedDocument) -> [KeyName] { document.items.elements.map(\.key) }

  func content(of key: KeyName, in document: SealedDocument) -> SlotContent? {
    document.items[key].map {
      SlotContent(
        $0.data.copy, stamp: stamp(of: $0.version), version: $0.version,
        attributes: ValueAttributes(KeychainAccessibility(rawValue: $0.tag)))
    }
  }

  func presence(of key: KeyName, in document: SealedDocument) -> SlotPresence? {
    document.items[key].map { SlotPresence(stamp: stamp(of: $0.version)) }
  }

  func set(_ key: KeyName, to item: SealedItem, version: SlotID, in document: inout SealedDocument) {
    document.items[key] = SealedDocument.Item(version: version, tag: item.tag, data: item.data)
  }

  func tag(of attributes: ValueAttributes) -> UInt8 { attributes[.accessibility] ?? 0 }

  func attributes(
    of key: KeyName, set data: Data, tag: UInt8, in document: @autoclosure () throws -> SealedDocument
  ) -> ValueAttributes {
    ValueAttributes(KeychainAccessibility(rawValue: tag))
  }

  func remove(_ key: KeyName, from document: inout SealedDocument) { document.items[key] = nil }

  // MARK: Staged and retained values

  func encodeStaged(_ data: Data, as id: SlotID, for key: KeyName?, tag: UInt8) throws -> Data {
    let payload = try StagedPayload.encode(data, for: key, tag: tag)
    return try payload.withUnsafeBytes { try cipher.seal($0, authenticating: context(id)) }
  }

  func decodeStaged(_ file: Data, of id: SlotID) throws -> (key: KeyName?, item: SealedItem) {
    guard let payload = try? cipher.openSecret(file, authenticating: context(id)) else { throw StagedPayload.damaged }
    let waiting = try StagedPayload.decode(payload)
    return (waiting.key, waiting.item)
  }

  func data(of item: SealedItem) -> Data { item.data.copy }

  /// Returns the authenticated data of a staged or retained value: its store and version, so that it cannot be
  /// substituted for another.
  private func context(_ id: SlotID) -> Data {
    var context = Data("coffer waiting 2".utf8) + storeID
    context.append(integer: id.owner)
    context.append(integer: id.number)
    return context
  }

  func stamp(of id: SlotID) -> SlotStamp? { SlotStamp(id.owner, id.number) }
}
