import CofferCallbacks
import CofferPersistence
import CofferVault
import Foundation

private struct Opening: Codable, Equatable {
  var hours = "9-18"
}

/// Uses one store through three interfaces: typed values, raw bytes with change notifications, and callbacks.
func doorsAct(_ stage: Stage) async throws {
  try await stage.withDatabase { engine in
    let persistence: any PersistenceCapability = AdapterBasedPersistence(engine: engine)
    let vault: any SwiftVaultService = SwiftVault.service(over: engine)
    let storage: any KeyValueStorage = EngineKeyValueStorage(engine: engine)
    var changes = vault.externalChanges.makeAsyncIterator()

    try await persistence.save(Opening(), for: "opening")
    let change = await changes.next()
    let isReceived = change?.key == "opening" && change?.transactionID != nil
    try stage.check(isReceived, isReceived ? 1 : 0, "change received with its key and transaction")
    let decoded = try await vault.loadData(forKey: "opening").map { try JSONDecoder().decode(Opening.self, from: $0) }
    try stage.check(decoded == Opening(), decoded == nil ? 0 : 1, "value equal through the second door")
    let bytes: Bytes? = try await withCheckedThrowingContinuation { continuation in
      storage.store(value: Bytes(#"{"hours":"10-16"}"#.utf8), for: "opening") { error in
        if let error { return continuation.resume(throwing: error) }
        storage.retrieve(for: "opening") { value, error in
          continuation.resume(with: error.map { .failure($0) } ?? .success(value))
        }
      }
    }
    let loaded = try await persistence.load(Opening.self, for: "opening")
    let isSame = bytes != nil && loaded == Opening(hours: "10-16")
    try stage.check(isSame, isSame ? 1 : 0, "value stored by callbacks, equal through the first door")
  }
}
