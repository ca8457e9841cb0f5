import CofferSQLite
import Foundation

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID())")
defer { try? FileManager.default.removeItem(at: folder) }

let engine = try await SQLiteEngine.open(at: folder.appendingPathComponent("store.db").path)
_ = try await engine.commit(WriteBatch([.put("theme", Data("night".utf8))]), from: StoreOrigin())
let theme = try await engine.entry("theme")?.value
precondition(theme == Data("night".utf8))
try await engine.close()
