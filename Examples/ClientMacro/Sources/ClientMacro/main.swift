import CofferMacros
import Foundation

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("clients-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }
let location = StoreLocation.sqlite(path: folder.appendingPathComponent("app.db").path)

let engine = try await location.open()
let session = ClientSession(engine: engine)
let preferences = try await session.start { UserPreferencesClient(persistence: $0) }
let layout = try await session.start { Layout(persistence: $0) }
let reader = try await session.start { Reader<Int>(persistence: $0) }
let window = try await session.start(prefix: "window/") { persistence in
  MainActor.assumeIsolated { Window(persistence: persistence) }
}
preferences.theme = .dark
layout.columns = 3
layout.title = "News"
await reader.move(to: 7)
window.width = 1_024
try await session.save()
try await engine.close()

// The next start of the application.
let reopened = try await location.open()
let next = ClientSession(engine: reopened)
let theme = try await next.start { UserPreferencesClient(persistence: $0) }.theme
let restored = try await next.start { Layout(persistence: $0) }
let page = try await next.start { Reader<Int>(persistence: $0) }.page
let width = try await next.start(prefix: "window/") { persistence in
  MainActor.assumeIsolated { Window(persistence: persistence) }
}.width
let keys = try await reopened.summaries().map(\.key.string)
try await reopened.close()

func isClient(_ value: Any) -> Bool { value is any Client && !(value is any Persistable) }
print("\(theme), \(restored.columns) columns, \(restored.title ?? "-"), page \(page ?? 0), \(width) wide")
print("Stored: \(keys.joined(separator: ", "))")
guard theme == .dark, restored.columns == 3, restored.title == "News", page == 7, width == 1_024,
  isClient(Calculator())
else { throw CocoaError(.coderValueNotFound) }
