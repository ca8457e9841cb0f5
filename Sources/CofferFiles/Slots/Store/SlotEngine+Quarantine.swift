public import CofferCore
import CofferSQLite
public import Foundation

extension SlotEngine: EntryQuarantiningEngine {
  public func quarantinedValues() async throws -> [QuarantinedValue] {
    let keys = try journal?.quarantinedKeys() ?? [:]
    return try await items().map { item in
      let key = keys[Data(item.name.utf8)]
      let reason: QuarantinedValue.Reason =
        SlotID(item.name) == nil ? .damagedFile : key == nil ? .unpublishedValue : .damagedValue
      return QuarantinedValue(id: item.name, key: key, date: item.date, size: item.size, reason: reason)
    }
  }

  public func quarantinedBytes(_ id: String) async throws -> Data {
    // Only a name of the list: it becomes a part of a path.
    guard try await items().contains(where: { $0.name == id }),
      let content = try await runBlocking({ [slots] in try slots.read(.quarantined(id)) })
    else { throw StorageError.notQuarantined(id, location: description) }
    return content.data
  }

  public func removeQuarantined(_ ids: [String]) async throws {
    if let obstacleToWriting { throw obstacleToWriting }
    let removed = Set(ids)
    let items = try await items().filter { removed.contains($0.name) }
    try await runBlocking { [slots] in
      for item in items { try slots.delete(.quarantined(item.name)) }
    }
    try await journal?.forgetQuarantined(items.map(\.name))
  }

  public func damage(of key: KeyName) async throws -> DamageReport? { try await core.damage(of: key) }

  package func quarantine(_ entry: StoreEntry) async throws -> String { try await core.quarantine(entry) }

  private func items() async throws -> [QuarantinedItem] {
    do {
      return try await runBlocking { [slots] in try slots.quarantined() }
        .sorted { ($0.date, $0.name) < ($1.date, $1.name) }
    } catch let error as StorageError {
      throw error.locating(at: description)
    }
  }
}
