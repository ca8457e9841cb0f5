import Coffer
import Foundation

struct Theme: Codable, Equatable, Sendable {
  var name: String
}

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID())")
defer { try? FileManager.default.removeItem(at: folder) }

let engine = try await SQLiteEngine.open(at: folder.appendingPathComponent("store.db").path)
let store = TypedStore(engine: engine)
try await store.save(Theme(name: "Night"), for: "theme")
let theme = try await store.load(Theme.self, for: "theme")
precondition(theme == Theme(name: "Night"))
try await engine.close()
