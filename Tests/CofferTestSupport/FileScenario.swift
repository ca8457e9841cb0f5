package import CofferCore
import Foundation

/// A batch that tests interrupt at every step, with the content of the store before and after it.
package enum FileScenario {
  /// A key of 1,024 bytes, whose file name contains a hash.
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
    WriteBatch(try before.sorted { $0.key < $1.key }.map { .put(try KeyName($0.key), Data($0.value.utf8)) })
  }

  /// Returns a batch that puts values, one of them with a hashed name, deletes one, and clears a prefix of which it
  /// puts one key again.
  package static func batch() throws -> WriteBatch {
    var batch = WriteBatch()
    batch.delete(KeyName("gone"))
    batch.clear(prefix: KeyName("list/"))
    for key in ["theme", longKey, "Fresh", "list/2"] {
      if let value = after[key] { batch.put(try KeyName(key), Data(value.utf8)) }
    }
    return batch
  }

  package static func single() throws -> WriteBatch { WriteBatch([.put(KeyName("theme"), Data("single".utf8))]) }
}
