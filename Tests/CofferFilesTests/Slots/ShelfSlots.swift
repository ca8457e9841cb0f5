import CofferCore
import CofferFiles
import CofferTesting
import Foundation

/// An in-memory store that implements only the required methods of `Slots`. Its values live until the process ends.
final class ShelfSlots: Slots {
  private static let shelves = Locked<[UUID: ShelfSlots]>([:])

  private let items = Locked<[Slot: Data]>([:])

  /// Returns the shelf with an identifier, creating it if necessary.
  static func shelf(_ id: UUID) -> ShelfSlots {
    shelves.withLock { shelves in
      let shelf = shelves[id] ?? ShelfSlots()
      shelves[id] = shelf
      return shelf
    }
  }

  func read(_ slot: Slot) throws -> SlotContent? { items.withLock { $0[slot] }.map { SlotContent($0) } }

  func write(_ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes) throws -> SlotContent {
    items.withLock { $0[slot] = data }
    return SlotContent(data)
  }

  func delete(_ slot: Slot) throws { items.withLock { $0[slot] = nil } }

  func list() throws -> [ListedSlot] { items.withLock { $0.keys.map { ListedSlot($0) } } }

  /// Changes a value as another program would, past the engine.
  func put(_ key: KeyName, _ data: Data?) { items.withLock { $0[.value(key)] = data } }
}
