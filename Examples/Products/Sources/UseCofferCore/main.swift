import CofferCore
import Foundation

let engine = MemoryEngine()
_ = try await engine.commit(WriteBatch([.put("theme", Data("night".utf8))]), from: StoreOrigin())
let theme = try await engine.entry("theme")?.value
precondition(theme == Data("night".utf8))
