import CofferVault
import Foundation

let vault = SwiftVault.service(over: MemoryEngine())
try await vault.saveData(Data("night".utf8), forKey: "theme", transactionID: UUID())
let theme = try await vault.loadData(forKey: "theme")
precondition(theme == Data("night".utf8))
