import CofferCore
import CofferCrypto
import CofferSlots
import Foundation

/// Writes secrets into a sealed file.
struct SealedFormat: DocumentFormat {
  let keepsSecrets = true
  /// What a file has that was removed while the store is open and is written again.
  private let header: SealedHeader
  /// The header that a file of format 1 gets when it is written again.
  private let newest: SealedHeader
  private let storeID: Data
  private let key: SecretBytes
  private let cipher: AESGCM
  private let place: SealedFile?

  /// - Parameter opened: what the passphrase has opened the header to.
  init(_ header: SealedHeader, _ opened: SealedHeader.Opened, at place: SealedFile? = nil) throws {
    self.header = header
    self.place = place
    key = opened.key
    newest = opened.newest
    storeID = try header.storeID ?? SealedHeader.storeID(from: opened.key)
    cipher = try AESGCM(key: opened.key)
  }

  /// A header by which another passphrase opens the same key.
  func header(with passphrase: SecretBytes, cost: ScryptCost) throws -> SealedHeader {
    try SealedHeader(sealing: key, of: storeID, with: passphrase, cost: cost)
  }

  /// What a new file holds.
  var empty: SealedDocument { SealedDocument(header: header) }

  /// A store is made with its file, so one without a file has lost it.
  func missing() throws -> SealedDocument { throw place?.isGone ?? SealedHeader.damaged }

  func decode(_ file: Data) throws -> SealedDocument {
    let header = try Self.header(of: file)
    if let id = header.storeID, id != storeID { throw isAnother }
    do {
      let payload = try cipher.openSecret(Data(file.dropFirst(header.size)), authenticating: header.bytes)
      return SealedDocument(header: header, items: try SealedPayload.decode(payload))
    } catch is AuthenticationFailure {
      // Format 1 does not say whose file it is.
      throw header.version == 1 && header != self.header ? isAnother : SealedPayload.damaged
    }
  }

  /// There was a store: a file that does not look like one is damaged.
  private static func header(of file: Data) throws(StorageError) -> SealedHeader {
    do { return try SealedHeader(of: file) } catch {
      throw error.code == .notAStore ? SealedHeader.damaged : error
    }
  }

  /// Not taken for damage, which would be mended by writing over it.
  private var isAnother: StorageError {
    StorageError(
      .wrongPassphrase, "The sealed file was replaced by one that the passphrase of this handle does not open.",
      advice: "Open the store again. Nothing was changed.")
  }

  func encode(_ document: SealedDocument) throws -> Data {
    let header = document.header == self.header ? newest : document.header
    let payload = try SealedPayload.encode(document.items)
    return try header.bytes + payload.withUnsafeBytes { try cipher.seal($0, authenticating: header.bytes) }
  }

  // MARK: Values

  func keys(of document: SealedDocument) -> [StoreKey] { Array(document.items.keys) }

  func content(of key: StoreKey, in document: SealedDocument) -> SlotContent? {
    document.items[key].map {
      SlotContent(
        $0.data.copy, stamp: stamp(of: $0.version), version: $0.version,
        attributes: ValueAttributes(KeychainAccessibility(rawValue: $0.tag)))
    }
  }

  func presence(of key: StoreKey, in document: SealedDocument) -> SlotPresence? {
    document.items[key].map { SlotPresence(stamp: stamp(of: $0.version)) }
  }

  func set(_ key: StoreKey, to item: SealedItem, version: SlotID, in document: inout SealedDocument) {
    document.items[key] = SealedDocument.Item(version: version, tag: item.tag, data: item.data)
  }

  func tag(of attributes: ValueAttributes) -> UInt8 { attributes[.accessibility] ?? 0 }

  func attributes(of key: StoreKey, set data: Data, tag: UInt8, in document: SealedDocument) -> ValueAttributes {
    ValueAttributes(KeychainAccessibility(rawValue: tag))
  }

  func remove(_ key: StoreKey, from document: inout SealedDocument) { document.items[key] = nil }

  // MARK: Values that wait

  func encodeWaiting(_ data: Data, as id: SlotID, for key: StoreKey?, tag: UInt8) throws -> Data {
    let payload = try WaitingPayload.encode(data, for: key, tag: tag)
    return try payload.withUnsafeBytes { try cipher.seal($0, authenticating: context(id)) }
  }

  func decodeWaiting(_ file: Data, of id: SlotID) throws -> (key: StoreKey?, item: SealedItem) {
    if let payload = try? cipher.openSecret(file, authenticating: context(id)) {
      let waiting = try WaitingPayload.decode(payload)
      return (waiting.key, waiting.item)
    }
    // What a writer of format 1 has left; a store that is of format 2 takes nothing of the kind.
    guard header.version == 1,
      let payload = try? cipher.openSecret(file, authenticating: Data("coffer waiting \(id)".utf8))
    else { throw WaitingPayload.damaged }
    return (nil, try WaitingPayload.decodeFirst(payload))
  }

  func data(of item: SealedItem) -> Data { item.data.copy }

  /// Which version of which store a value that waits is, so that none can be put in another's place.
  private func context(_ id: SlotID) -> Data {
    var context = Data("coffer waiting 2".utf8) + storeID
    context.append(integer: id.owner)
    context.append(integer: id.number)
    return context
  }

  func stamp(of id: SlotID) -> SlotStamp? { SlotStamp(id.owner, id.number) }
}
