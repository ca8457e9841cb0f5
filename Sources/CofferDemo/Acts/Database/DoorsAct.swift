import CofferPersistence
import CofferVault
import Foundation

private struct ShopSettings: Codable, Equatable {
  var currency = "EUR"
  var showsStock = true
  var columns = 3
}

/// Uses two interfaces of one store: typed values through one, raw bytes and change notifications through the other.
func doorsAct(_ stage: Stage) async throws {
  try await stage.withEngine { engine in
    let persistence: any PersistenceCapability = AdapterBasedPersistence(engine: engine)
    let vault: any SwiftVaultService = SwiftVault.service(over: engine)
    let changes = vault.externalChanges
    let settings = ShopSettings()

    // Saved through the first door; observed and read through the second.
    let start = monotonicNanoseconds()
    try await persistence.save(settings, for: "settings/shop")
    let heard = try await next(changes)
    let took = seconds(since: start)
    let bytes = try await vault.loadData(forKey: "settings/shop")
    stage.console.line("   PersistenceCapability saves \"settings/shop\", a Swift struct.")
    stage.console.line(
      "   SwiftVaultService receives \"\(heard.key ?? "-")\", \(duration(took)) after the save began,")
    stage.console.line("   with transaction \(heard.transactionID?.uuidString ?? "-").")
    let isHeard = heard.key == "settings/shop" && heard.transactionID != nil
    stage.check(isHeard, "change received with its key and transaction", count: isHeard ? 1 : 0)
    let isSame = try bytes.map { try JSONDecoder().decode(ShopSettings.self, from: $0) } == settings
    stage.check(isSame, "value equal through the other door", count: isSame ? 1 : 0)

    // Saved through the second door; read through the first. The vault does not receive its own changes.
    let changed = ShopSettings(currency: "CHF", showsStock: false, columns: 4)
    try await vault.saveData(JSONEncoder().encode(changed), forKey: "settings/shop", transactionID: UUID())
    let back = try await persistence.load(ShopSettings.self, for: "settings/shop")
    try await persistence.save("done", for: "settings/last")
    let following = try await next(changes)
    let isBack = back == changed
    let isSilent = following.key == "settings/last"
    stage.check(isBack, "value equal on the way back", count: isBack ? 1 : 0)
    stage.check(isSilent, "own changes delivered as external ones", count: isSilent ? 0 : 1)
  }
}

private func next(
  _ changes: AsyncStream<(key: String?, transactionID: UUID?)>
) async throws -> (key: String?, transactionID: UUID?) {
  try await within(.seconds(10), "a change") {
    for await change in changes { return change }
    throw DemoError("the stream of changes has ended")
  }
}
