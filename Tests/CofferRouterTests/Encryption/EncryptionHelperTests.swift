import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite struct EncryptionHelperTests {
  private static let secret = Data("s3cret".utf8)

  private func helper(first: UInt8 = 1) -> EncryptionHelper {
    EncryptionHelper(
      configuration: configured {
        $0.encryption.key = .provider(FixedKeyMaterial(first: first), named: "test")
        $0.encryption.providers["hsm"] = FixedKeyMaterial(first: 100)
      })
  }

  private static let policies = [
    EncryptionPolicy.aes256, .chaCha20Poly1305, EncryptionPolicy(.aes256, keyMaterial: "hsm"),
  ]

  @Test("A value opens with its name and its key only", arguments: policies)
  func roundTrip(_ policy: EncryptionPolicy) async throws {
    let envelope = try await helper().encrypt(Self.secret, name: "token", policy: policy)
    #expect(envelope.count == Self.secret.count + 80 && envelope.range(of: Self.secret) == nil)
    #expect(try await helper().encrypt(Self.secret, name: "token", policy: policy) != envelope)
    #expect(try await helper().decrypt(envelope, name: "token", policy: policy) == Self.secret)
    await expectError(.damaged, "another name") {
      _ = try await helper().decrypt(envelope, name: "tokem", policy: policy)
    }
    guard policy.keyMaterial == nil else { return }
    await expectError(.keyUnavailable) {
      _ = try await helper(first: 2).decrypt(envelope, name: "token", policy: policy)
    }
  }

  @Test("Each changed byte is noticed")
  func changes() async throws {
    let helper = helper()
    let envelope = try await helper.encrypt(Self.secret, name: "token", policy: .aes256)
    for index in envelope.indices {
      var changed = envelope
      changed[index] ^= 1
      let error = await #expect(throws: StorageError.self, "byte \(index)") {
        _ = try await helper.decrypt(changed, name: "token", policy: .aes256)
      }
      #expect([.damaged, .keyUnavailable, .newerFormat].contains(error?.code), "byte \(index)")
    }
  }

  @Test("Without a key nothing is encrypted")
  func noKey() async throws {
    await expectError(.unavailable, "key") {
      _ = try await helper().encrypt(
        Self.secret, name: "k", policy: EncryptionPolicy(.aes256, keyMaterial: "missing"))
    }
    await expectError(.invalidKey) { _ = try await helper().encrypt(Self.secret, name: "", policy: .aes256) }
  }
}
