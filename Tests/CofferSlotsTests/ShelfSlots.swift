import CofferCore
import CofferLocks
import CofferSlots
import CofferTesting
import Foundation

/// A home that can do no more than read, write, delete and list: what is put onto a shelf stays until the process ends.
final class ShelfSlots: Slots {
  private static let shelves = Locked<[UUID: ShelfSlots]>([:])

  private let items = Locked<[Slot: Data]>([:])

  /// The shelf of that name.
  static func shelf(_ id: UUID) -> ShelfSlots {
    shelves.withLock { shelves in
      let shelf = shelves[id] ?? ShelfSlots()
      shelves[id] = shelf
      return shelf
    }
  }

  func read(_ slot: Slot) throws -> SlotContent? { items.withLock { $0[slot] }.map { SlotContent($0) } }

  func write(_ data: Data, to slot: Slot) throws -> SlotStamp? {
    items.withLock { $0[slot] = data }
    return nil
  }

  func delete(_ slot: Slot) throws { items.withLock { $0[slot] = nil } }

  func list() throws -> [Slot] { items.withLock { Array($0.keys) } }

  /// What somebody else does to the shelf.
  func put(_ key: StoreKey, _ data: Data?) { items.withLock { $0[.value(key)] = data } }
}
