import CofferRouter
import Foundation

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID())")
defer { try? FileManager.default.removeItem(at: folder) }

let router = StorageRouter()
let key = TypedKey<String>("theme", in: .database(folder.appendingPathComponent("app.db")))
try await router.set("night", for: key)
let theme = try await router.get(key)
precondition(theme == "night")
try await router.close()
