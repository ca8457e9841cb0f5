import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of keys in the desktop's keyring, on a private bus.
@Suite(
  "Keys in the keyring", .blocking, .serialized,
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct KeyItemTests {
  @Test("A key is generated in the keyring for a new store, and opens it")
  func item() async throws {
    let (sandbox, keyring) = (try Sandbox(), try PrivateKeyring())
    let bus: [(name: String, value: String?)] = keyring.environment.map { (name: $0.0, value: $0.1) }
    try await sandbox.coffer("set", "a", "unmistakable")
    // Opening never generates a key, and a missing one is not a missing store.
    let made = try await sandbox.coffer("encrypt", "store.db", "--key-item", "com.example.shop", environment: bus)
    #expect(made.status == 0, "\(made.errors)")
    let read = try await sandbox.coffer("get", "a", "--key-item", "com.example.shop", environment: bus)
    #expect(read.text == "unmistakable", "\(read.errors)")
    let other = try await sandbox.coffer("get", "a", "--key-item", "other", environment: bus)
    #expect(other.status == 1 && other.errors.contains("has no key material named"), "\(other.errors)")
    // The item of a group is another one.
    let group = try await sandbox.coffer("get", "a", "--key-item", "com.example.shop@group", environment: bus)
    #expect(group.status == 1 && group.errors.contains("has no key material named"), "\(group.errors)")
    let copied = try await sandbox.coffer(
      "cp", "store.db", "encrypted:to.db", "--key-item", "com.example.shop", "--to-key-item",
      "com.example.shop@group", environment: bus)
    #expect(copied.status == 0, "\(copied.errors)")
    let inGroup = try await sandbox.coffer(
      "get", "a", "--store", "to.db", "--key-item", "com.example.shop@group", environment: bus)
    #expect(inGroup.text == "unmistakable", "\(inGroup.errors)")
    let key = try sandbox.makeKey()
    let moved = try await sandbox.coffer(
      "rekey", "store.db", "--key-item", "com.example.shop", "--to-key-file", key, environment: bus)
    #expect(moved.status == 0, "\(moved.errors)")
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "unmistakable")
    let absent = try await sandbox.coffer("get", "a", "--key-item", "com.example.shop")
    #expect(absent.status == 1 && absent.errors.contains("keyring cannot be reached"), "\(absent.errors)")
  }
}
