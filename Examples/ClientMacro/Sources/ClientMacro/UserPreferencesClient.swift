import CofferMacros

enum Theme: String, Codable { case system, dark }
enum Language: String, Codable { case english, german }

// As the persistence specification prints it, word for word.
@Client
struct UserPreferencesClient: Persistable {
  static let persistedKeys = ["theme", "notifications", "language"]

  let persistence: PersistenceCapability

  @ClientState var theme: Theme = .system
  @ClientState var notificationsEnabled: Bool = true
  @ClientState var language: Language = .english

  func persistState() async throws {
    try await persistence.save(theme, for: "theme")
    try await persistence.save(notificationsEnabled, for: "notifications")
    try await persistence.save(language, for: "language")
  }

  func restoreState() async throws {
    if let savedTheme = try await persistence.load(Theme.self, for: "theme") {
      theme = savedTheme
    }
    // ... restore other properties
  }
}
