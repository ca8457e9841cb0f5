package import CofferCore
import Foundation

/// The batch that is interrupted everywhere, what was stored before it and what is stored after it.
package enum FileScenario {
  /// 1,024 bytes: the name of its file holds a hash.
  package static let longKey = "Long/" + String(repeating: "é", count: 509) + "z"

  package static let before: [String: String] = [
    "theme": "old theme", longKey: "old long", "gone": "old gone", "keep": "kept", "list/1": "old 1", "list/2": "old 2",
    "list/3": "old 3",
  ]

  package static let after: [String: String] = [
    "theme": "new theme, which is longer", longKey: "new long", "Fresh": "new fresh", "keep": "kept", "list/2": "new 2",
  ]

  package static let singleAfter = before.merging(["theme": "single"]) { $1 }

  package static func fill() throws -> WriteBatch {
    WriteBatch(try before.sorted { $0.key < $1.key }.map { .put(try StoreKey($0.key), Data($0.value.utf8)) })
  }

  /// Three values, one of them hashed; one that goes; and a prefix that is cleared, one of whose keys is put again.
  package static func batch() throws -> WriteBatch {
    var batch = WriteBatch()
    batch.delete(try StoreKey("gone"))
    batch.clear(prefix: try StoreKey("list/"))
    for key in ["theme", longKey, "Fresh", "list/2"] {
      if let value = after[key] { batch.put(try StoreKey(key), Data(value.utf8)) }
    }
    return batch
  }

  package static func single() throws -> WriteBatch { WriteBatch([.put(try StoreKey("theme"), Data("single".utf8))]) }
}
