import CofferFileSystem
import CofferTesting
import CofferVault
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ExampleTests {
  let engine = MemoryEngine()
  var service: any SwiftVaultService { SwiftVault.service(over: engine) }

  @Test func theSingleCallsWork() async throws {
    let service = service
    let user = User(name: "John", email: "john@example.com")
    try await loadExample(service: service)
    try await saveExample(service: service, user: user)
    try await loadExample(service: service)
    let stored = try await service.loadData(forKey: "current_user")
    #expect(try stored.map { try JSONDecoder().decode(User.self, from: $0) } == user)
    try await removeExample(service: service)
    try await existsExample(service: service)
    try await existsExample(service: service)
    #expect(try await service.loadData(forKey: "user_preferences") == createDefaultPreferences())
    try await clearExample(service: service)
    #expect(await !service.exists(forKey: "current_user"))
  }

  // Requirements 0.37, 0.43
  @Test func thePreferencesWork() async throws {
    let home = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-document-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: home) }
    let system = SystemDirectories(bundleIdentifier: "com.example.shop") { $0 == "HOME" ? home.path : nil }
    try await SystemDirectories.$current.withValue(system) { try await basicExample() }
    let file = home.appendingPathComponent(".config/com.example.shop.plist")
    #expect(FileManager.default.fileExists(atPath: file.path))
  }

  // Requirement 0.39
  @Test func theBatchWorks() async throws {
    let data = Data([1])
    let existing = try await batchExample(service: service, data1: data, data2: data, data3: data)
    #expect(existing == ["item1", "item2", "item3"])
  }

  /// The examples subscribe some time after they were called, so the other service writes until a change is delivered.
  // Requirement 0.24
  @Test func theMonitorsHearAnotherService() async throws {
    let other = service
    let preferences = UserPreferences(theme: "dark")
    monitorExample(service: service)
    try await eventually("the preferences are heard") {
      let data = try JSONEncoder().encode(preferences)
      try await other.saveData(data, forKey: "user_preferences", transactionID: UUID())
      return await Seen.preferences.contains(preferences)
    }
    try await engine.close()  // ends the monitors
  }

  // Requirement 0.38
  @Test func theDataManagerHearsAnotherService() async throws {
    let other = service
    let manager = DataManager(service: service)
    try await eventually("the key is reloaded") {
      try await other.saveData(Data(), forKey: "managed", transactionID: UUID())
      return await Seen.reloadedKeys.contains("managed")
    }
    try await other.clearAll()
    try await eventually("everything is reloaded") { await Seen.fullReloads > 0 }
    withExtendedLifetime(manager) {}
    try await engine.close()
  }
}
