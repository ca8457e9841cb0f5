package import CofferCore
import CofferCrypto
package import CofferSQLite
package import Foundation

/// A sealed file, opened.
package struct SealedDocument: Sendable {
  /// One value, its version and what was said of it.
  package struct Item: Hashable, Sendable {
    package let version: SlotID
    package let tag: UInt8
    package let data: Data
  }

  var header: SealedHeader
  var items: [Key: Item] = [:]
}

/// The values of a sealed file in a row, before they are sealed: `docs/formats/sealed.md`.
package enum SealedPayload {
  package static func encode(_ items: [Key: SealedDocument.Item]) -> Data {
    var bytes = Data()
    bytes.append(integer: UInt32(items.count))
    for (key, item) in items.sorted(by: { $0.key < $1.key }) {
      let name = Data(key.string.utf8)
      bytes.append(integer: item.version.owner)
      bytes.append(integer: item.version.number)
      bytes.append(item.tag)
      bytes.append(integer: UInt32(name.count))
      bytes.append(integer: UInt32(item.data.count))
      bytes += name + item.data
    }
    return bytes
  }

  /// - Throws: `damaged`.
  package static func decode(_ bytes: Data) throws(StorageError) -> [Key: SealedDocument.Item] {
    var rest = bytes[...]
    func take(_ count: Int) throws(StorageError) -> Data {
      guard rest.count >= count else { throw SealedHeader.damaged }
      defer { rest = rest.dropFirst(count) }
      return Data(rest.prefix(count))
    }
    func number() throws(StorageError) -> UInt64 { try take(8).reduce(0) { $0 << 8 | UInt64($1) } }
    var items: [Key: SealedDocument.Item] = [:]
    let count = try take(4).integer(at: 0)
    for _ in 0..<count {
      let version = SlotID(owner: try number(), number: try number())
      let tag = try take(1)[0]
      let (nameSize, size) = (Int(try take(4).integer(at: 0)), Int(try take(4).integer(at: 0)))
      guard let name = String(validating: try take(nameSize), as: UTF8.self), let key = try? Key(name),
        items[key] == nil
      else { throw SealedHeader.damaged }
      items[key] = SealedDocument.Item(version: version, tag: tag, data: try take(size))
    }
    guard rest.isEmpty else { throw SealedHeader.damaged }
    return items
  }
}

/// Writes secrets into a sealed file.
struct SealedFormat: DocumentFormat {
  let keepsSecrets = true
  /// What a file has that was removed while the store is open and is written again.
  private let header: SealedHeader
  private let key: SecretBytes
  private let cipher: AESGCM

  init(_ header: SealedHeader, key: SecretBytes) throws {
    self.header = header
    self.key = key
    cipher = try AESGCM(key: key)
  }

  /// A header by which another passphrase opens the same key.
  func header(with passphrase: SecretBytes, cost: ScryptCost) throws -> SealedHeader {
    try SealedHeader(sealing: key, with: passphrase, cost: cost)
  }

  /// What a new file holds.
  var empty: SealedDocument { SealedDocument(header: header) }

  /// A store is made with its file, so one without a file has lost it.
  func missing() throws -> SealedDocument {
    throw StorageError(
      .damaged, "The sealed file is gone.",
      advice: "Put it back, from a backup or from 'copy' in the directory beside it. Nothing was changed.")
  }

  func decode(_ file: Data) throws -> SealedDocument {
    let header = try SealedHeader(of: file)
    do {
      let payload = try cipher.open(Data(file.dropFirst(SealedHeader.size)), authenticating: header.bytes)
      return SealedDocument(header: header, items: try SealedPayload.decode(payload))
    } catch is AuthenticationFailure {
      guard header == self.header else {
        // Not taken for damage, which would be mended by writing over it.
        throw StorageError(
          .wrongPassphrase, "The sealed file was replaced by one that the passphrase of this handle does not open.",
          advice: "Open the store again. Nothing was changed.")
      }
      throw SealedHeader.damaged
    }
  }

  func encode(_ document: SealedDocument) throws -> Data {
    document.header.bytes
      + (try cipher.seal(SealedPayload.encode(document.items), authenticating: document.header.bytes))
  }

  // MARK: Values

  func keys(of document: SealedDocument) -> [Key] { Array(document.items.keys) }

  func content(of key: Key, in document: SealedDocument) -> SlotContent? {
    document.items[key].map { SlotContent($0.data, stamp: stamp(of: $0.version), version: $0.version) }
  }

  func set(_ key: Key, to item: SealedItem, version: SlotID, in document: inout SealedDocument) {
    document.items[key] = SealedDocument.Item(version: version, tag: item.tag, data: item.data)
  }

  func remove(_ key: Key, from document: inout SealedDocument) { document.items[key] = nil }

  // MARK: Values that wait

  func encodeWaiting(_ data: Data, as id: SlotID, tag: UInt8) throws -> Data {
    try cipher.seal(Data([tag]) + data, authenticating: Self.context(id))
  }

  func decodeWaiting(_ file: Data, of id: SlotID) throws -> (data: Data, item: SealedItem) {
    guard let opened = try? cipher.open(file, authenticating: Self.context(id)), let tag = opened.first else {
      throw SealedHeader.damaged
    }
    let data = Data(opened.dropFirst())
    return (data, SealedItem(data: data, tag: tag))
  }

  /// What a value that waits belongs to, so that none can be put in another's place.
  private static func context(_ id: SlotID) -> Data { Data("coffer waiting \(id)".utf8) }

  func stamp(of id: SlotID) -> SlotStamp? { SlotStamp(id.owner, id.number) }
}

/// A value and what was said of it.
struct SealedItem: Sendable {
  let data: Data
  let tag: UInt8
}
