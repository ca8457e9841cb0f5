import CofferCore
import CofferCrypto
import Foundation

/// The values that did not open and were kept before they were replaced.
///
/// The store itself found their bytes intact and has no copy in its quarantine. So each one is in a system record of
/// its own, in an envelope, and one record lists them. `docs/formats/encryption.md` describes both.
struct KeptValues: Sendable {
  /// A value in the list.
  struct Item: Hashable, Sendable, Codable {
    /// The beginning of a hash of key, revision and bytes, in hexadecimal digits.
    let id: String
    /// The key under which the bytes were stored.
    let key: String
    /// The revision at which they were stored.
    let revision: UInt64
    /// The number of bytes.
    let size: Int
    /// When they were kept, in milliseconds since 1970.
    let date: Int64

    fileprivate var name: SystemRecordName {
      get throws { try SystemRecordName("encryption.kept/" + id) }
    }
    var storedKey: StoreKey? { try? StoreKey(key) }
  }

  private static let list = SystemRecordName("encryption.kept" as StoreKey)
  private static let format: UInt8 = 4

  let base: any StorageEngine
  let cipher: StoreCipher

  /// Returns the list, the oldest first.
  func items() async throws -> [Item] { try await read().items }

  private func read() async throws -> (items: [Item], revision: StoreRevision?) {
    guard base.capabilities.contains(.systemRecords), let record = try await base.record(Self.list) else {
      return ([], nil)
    }
    let list = try open(record.content, Self.list)
    guard let items = try? JSONDecoder().decode([Item].self, from: list) else {
      throw StorageError(
        .damaged, "The list of kept values of the encrypted store is damaged.",
        advice: "Other values are not affected.", location: base.description)
    }
    return (items, record.revision)
  }

  /// Keeps the bytes of a stored entry, unless they are kept already.
  func keep(_ entry: StoreEntry, now: Date) async throws -> Item {
    let stamp = Data("\(entry.revision.rawValue) \(entry.key.size) \(entry.key.string)".utf8)
    let hash = sha256(stamp + entry.value).prefix(12).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let item = Item(
      id: hash, key: entry.key.string, revision: entry.revision.rawValue, size: entry.value.count,
      date: now.unixMilliseconds)
    try await change { items in
      if items.contains(where: { $0.id == item.id }) { return [] }
      items.append(item)
      return [.putRecord(try item.name, try seal(entry.value, item.name))]
    }
    return item
  }

  /// Returns the bytes of an item; `nil` if there are none.
  func bytes(_ item: Item) async throws -> Data? {
    try await base.record(item.name).map { try open($0.content, item.name) }
  }

  /// Seals everything again with the primary key, as a rotation needs before it removes the others.
  func reseal() async throws {
    while true {
      let (items, revision) = try await read()
      guard let revision else { return }
      var operations: [WriteBatch.Operation] = []
      for item in items {
        if let bytes = try await bytes(item) {
          operations.append(.putRecord(try item.name, try seal(bytes, item.name)))
        }
      }
      if try await write(items, after: revision, operations) { return }
    }
  }

  /// Removes items for good.
  func remove(_ ids: [String]) async throws {
    try await change { items in
      let removed = items.filter { ids.contains($0.id) }
      items.removeAll { ids.contains($0.id) }
      return try removed.map { .deleteRecord(try $0.name) }
    }
  }

  /// Changes the list together with other records, and again if another writer was first. `body` returns no operations
  /// if nothing is to be changed.
  private func change(_ body: (inout [Item]) throws -> [WriteBatch.Operation]) async throws {
    while true {
      var (items, revision) = try await read()
      let operations = try body(&items)
      guard !operations.isEmpty else { return }
      if try await write(items, after: revision, operations) { return }
    }
  }

  /// Writes the list together with other records. Returns `false` if another writer was first.
  private func write(
    _ items: [Item], after revision: StoreRevision?, _ operations: [WriteBatch.Operation]
  ) async throws -> Bool {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let list = try seal(encoder.encode(items), Self.list)
    let batch = WriteBatch([.requireRecord(Self.list, revision), .putRecord(Self.list, list)] + operations)
    do {
      try await base.commit(batch, from: StoreOrigin())
      return true
    } catch let error as StorageError where error.code == .preconditionFailed {
      return false
    }
  }

  // MARK: Envelopes

  private func seal(_ content: Data, _ name: SystemRecordName) throws -> Data {
    try Envelope.seal(
      content, under: cipher.ring.primary, context: context(name), algorithm: cipher.ring.settings.algorithm.cipher,
      isPadded: cipher.ring.settings.padsValues)
  }

  private func open(_ content: Data, _ name: SystemRecordName) throws -> Data {
    do {
      return try Envelope.open(content, context: context(name)) { try cipher.ring.key($0) }
    } catch is AuthenticationFailure {
      throw StorageError(
        .damaged, "A kept value of the encrypted store does not open.", advice: "Other values are not affected.",
        location: base.description)
    }
  }

  private func context(_ name: SystemRecordName) throws -> EnvelopeContext {
    EnvelopeContext(
      store: cipher.ring.storeID, key: try StoreKey(name.description), attributes: .none, format: Self.format)
  }
}
