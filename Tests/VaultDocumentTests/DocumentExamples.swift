// The examples of the vault specification, verbatim except for indentation, each with the declarations that it assumes.
// `DocumentTests` compares them with the document. The examples are written for Swift 5 mode, so this target uses it.
import CofferVault
import Foundation

struct User: Codable, Equatable {
  var name: String
  var email: String
}

struct UserPreferences: Codable, Equatable {
  var theme: String
}

func createDefaultPreferences() -> Data { Data(#"{"theme":"default"}"#.utf8) }

/// The effects of the examples, which the tests check.
@MainActor enum Seen {
  static var preferences: [UserPreferences] = []
  static var reloadedKeys: [String] = []
  static var fullReloads = 0
}

@MainActor func updateUI(with preferences: UserPreferences) { Seen.preferences.append(preferences) }

// MARK: - saveData(_:forKey:transactionID:)

func saveExample(service: any SwiftVaultService, user: User) async throws {
  let userData = try JSONEncoder().encode(user)
  let transactionID = UUID()
  try await service.saveData(userData, forKey: "current_user", transactionID: transactionID)
}

// MARK: - loadData(forKey:)

func loadExample(service: any SwiftVaultService) async throws {
  if let userData = try await service.loadData(forKey: "current_user") {
    let user = try JSONDecoder().decode(User.self, from: userData)
    print("Loaded user: \(user.name)")
  } else {
    print("No user data found")
  }
}

// MARK: - remove(forKey:)

func removeExample(service: any SwiftVaultService) async throws {
  try await service.remove(forKey: "temporary_data")
}

// MARK: - exists(forKey:)

func existsExample(service: any SwiftVaultService) async throws {
  if await service.exists(forKey: "user_preferences") {
    let preferences = try await service.loadData(forKey: "user_preferences")
    // Process existing preferences
  } else {
    // Set up default preferences
    let defaultPrefs = createDefaultPreferences()
    try await service.saveData(defaultPrefs, forKey: "user_preferences", transactionID: UUID())
  }
}

// MARK: - clearAll()

func clearExample(service: any SwiftVaultService) async throws {
  // Clear all app data (e.g., during logout)
  try await service.clearAll()
}

// MARK: - externalChanges

func monitorExample(service: any SwiftVaultService) {
  // Monitor all external changes
  Task {
    for await (key, transactionID) in service.externalChanges {
      if let key = key {
        print("Key '\(key)' changed externally")
        // Reload specific data
      } else {
        print("Bulk change detected")
        // Reload all data
      }
    }
  }

  // Monitor specific key changes
  Task {
    for await (key, transactionID) in service.externalChanges {
      guard key == "user_preferences" else { continue }

      // Reload user preferences
      if let data = try? await service.loadData(forKey: "user_preferences") {
        let preferences = try JSONDecoder().decode(UserPreferences.self, from: data)
        await updateUI(with: preferences)
      }
    }
  }
}

// MARK: - Reactive Data Monitoring

class DataManager {
  private let service: SwiftVaultService
  private var monitoringTask: Task<Void, Never>?

  init(service: SwiftVaultService) {
    self.service = service
    startMonitoring()
  }

  private func startMonitoring() {
    monitoringTask = Task {
      for await (key, transactionID) in service.externalChanges {
        await handleExternalChange(key: key, transactionID: transactionID)
      }
    }
  }

  private func handleExternalChange(key: String?, transactionID: UUID?) async {
    // Handle external changes
    if let key = key {
      await reloadData(for: key)
    } else {
      await reloadAllData()
    }
  }

  deinit {
    monitoringTask?.cancel()
  }
}

extension DataManager {
  @MainActor func reloadData(for key: String) async { Seen.reloadedKeys.append(key) }
  @MainActor func reloadAllData() async { Seen.fullReloads += 1 }
}

// MARK: - Batch Operations

func batchExample(service: any SwiftVaultService, data1: Data, data2: Data, data3: Data) async throws -> [String] {
  // Save multiple items
  let items = ["item1": data1, "item2": data2, "item3": data3]
  let transactionID = UUID()

  for (key, data) in items {
    try await service.saveData(data, forKey: key, transactionID: transactionID)
  }

  // Check multiple items
  let keys = ["item1", "item2", "item3"]
  let existingKeys = await keys.asyncFilter { key in
    await service.exists(forKey: key)
  }

  return existingKeys
}

// MARK: - Basic CRUD Operations

func basicExample() async throws {
  let service = SwiftVault.userDefaults()

  // Create/Update
  let user = User(name: "John", email: "john@example.com")
  let userData = try JSONEncoder().encode(user)
  try await service.saveData(userData, forKey: "current_user", transactionID: UUID())

  // Read
  if let userData = try await service.loadData(forKey: "current_user") {
    let user = try JSONDecoder().decode(User.self, from: userData)
    print("Current user: \(user.name)")
  }

  // Delete
  try await service.remove(forKey: "current_user")
}
