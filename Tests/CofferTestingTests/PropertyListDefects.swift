import CofferCore
import CofferTesting
import Foundation

extension Defect {
  static let typing = [
    Defect(
      "declares property lists and keeps any type",
      failing: "with propertyLists, bytes that are no value of their type are stored as data"
    ) {
      $0.features = { $0.union(.propertyLists) }
    },
    Defect(
      "changes values and forwards propertyLists", failing: "with propertyLists, each value keeps its type",
      open: { _ in
        var wrapper = Wrapper(base: propertyList)
        wrapper.onCommit = { base, batch, origin in
          try await base.commit(mappingPuts(batch) { (Data($0.reversed()), $1) }, from: origin)
        }
        wrapper.onEntries = { base, keys in
          try await base.entries(keys).map { entry in
            entry.map {
              StoreEntry(
                key: $0.key, value: Data($0.value.reversed()), revision: $0.revision, attributes: $0.attributes)
            }
          }
        }
        return wrapper
      }),
  ]

  /// An engine that stores a Boolean that is none as data, as a property list does.
  private static var propertyList: any StorageEngine {
    let type = ValueAttribute<UInt8>(code: 1)
    var wrapper = Wrapper(base: MemoryEngine())
    wrapper.features = { $0.union(.propertyLists) }
    wrapper.onCommit = { base, batch, origin in
      let typed = mappingPuts(batch) { data, attributes in
        var attributes = attributes
        if attributes[type] == 4, Bool(String(decoding: data, as: UTF8.self)) == nil { attributes[type] = 1 }
        return (data, attributes)
      }
      return try await base.commit(typed, from: origin)
    }
    return wrapper
  }

  private static func mappingPuts(
    _ batch: WriteBatch, _ change: (Data, ValueAttributes) -> (Data, ValueAttributes)
  ) -> WriteBatch {
    WriteBatch(
      batch.operations.map { operation in
        guard case .put(let key, let data, let attributes) = operation else { return operation }
        let changed = change(data, attributes)
        return .put(key, changed.0, changed.1)
      }, transaction: batch.transaction, durability: batch.durability)
  }
}
