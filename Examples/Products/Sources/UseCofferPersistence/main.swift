import CofferPersistence

let persistence: any PersistenceCapability = AdapterBasedPersistence(adapter: MemoryAdapter())
try await persistence.save(["en", "de"], for: "languages")
let languages = try await persistence.load([String].self, for: "languages")
precondition(languages == ["en", "de"])
