import CofferCore
import CofferEncryption
import Foundation

/// Runs a command on a store of which only some values are encrypted; returns whether it is one.
func runOnSelectiveStores(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  guard command == "selective-write" else { return false }
  let (kind, key) = (rest[0], rest[1])
  let engine = SelectiveEncryption(
    try await openBase(path, kind), configuration: EncryptionConfiguration(), only: { $0 == "secret" },
    key: { .file(key) })
  let opened = try await engine.engineOfRing() ?? engine
  say("ready")
  // Each line is a way of writing, a key and a text.
  while let words = readLine()?.split(separator: " ").map(String.init), words.count == 3 {
    let batch = WriteBatch([.put(try StoreKey(words[1]), Data(words[2].utf8))])
    do {
      if words[0] == "submit", let engine = opened as? any SynchronousEngine {
        _ = try await withCheckedThrowingContinuation { continuation in
          engine.submit(batch, from: StoreOrigin()) { continuation.resume(with: $0) }
        }
      } else {
        try await opened.commit(batch, from: StoreOrigin())
      }
      say("ok")
    } catch let error as StorageError {
      say("\(error.code)")
    }
  }
  return true
}
