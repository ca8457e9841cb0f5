import CofferRouter
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
    SecurityPolicy.Encryption.aes256, .chaCha20Poly1305, SecurityPolicy.Encryption(.aes256, keyMaterial: "hsm"),
  ]

  // Requirement 4.11
  @Test("A value opens with its name and its key only", arguments: policies)
  func roundTrip(_ policy: SecurityPolicy.Encryption) async throws {
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

  // Requirement 4.11
  @Test("A value under a passphrase opens with it and its name only", arguments: EncryptionAlgorithm.allCases)
  func passphrase(_ algorithm: EncryptionAlgorithm) async throws {
    let helper = EncryptionHelper()
    let right = PassphraseSource.provided { Data("correct horse\n".utf8) }
    let wrong = PassphraseSource.provided { Data("correct house".utf8) }
    let sealed = try await helper.encrypt(Self.secret, name: "token", passphrase: right, algorithm: algorithm)
    #expect(sealed.count == Self.secret.count + 124 && sealed.range(of: Self.secret) == nil)
    #expect(try await EncryptionHelper().decrypt(sealed, name: "token", passphrase: right) == Self.secret)
    await expectError(.wrongPassphrase) { _ = try await helper.decrypt(sealed, name: "token", passphrase: wrong) }
    await expectError(.damaged, "another name") {
      _ = try await helper.decrypt(sealed, name: "tokem", passphrase: right)
    }
    await expectError(.damaged, "another name") {
      _ = try await EncryptionHelper(label: "b").decrypt(sealed, name: "token", passphrase: right)
    }
    // A byte of each part: magic, format, derivation, rounds, salt, the id of the key, the ciphertext.
    for (index, codes) in [
      (0, [StorageError.Code.damaged]), (5, [.damaged, .newerFormat]), (6, [.newerFormat]), (8, [.unsupported]),
      (11, [.wrongPassphrase]), (12, [.wrongPassphrase]), (44, [.damaged]), (76, [.wrongPassphrase]),
      (sealed.count - 1, [.damaged]),
    ] {
      var changed = sealed
      changed[index] ^= 1
      let error = await #expect(throws: StorageError.self, "byte \(index)") {
        _ = try await helper.decrypt(changed, name: "token", passphrase: right)
      }
      #expect(error.map { codes.contains($0.code) } == true, "byte \(index): \(String(describing: error))")
    }
    await expectError(.damaged) { _ = try await helper.decrypt(sealed.prefix(43), name: "token", passphrase: right) }
  }

  // Requirement 4.11
  @Test("A value that demands too many rounds is refused before the passphrase is requested")
  func rounds() async throws {
    let never = PassphraseSource.provided {
      Issue.record("asked")
      return Data("correct horse".utf8)
    }
    let helper = EncryptionHelper()
    for rounds in [[0, 0, 3, 231], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
      let sealed = Data([0xFF]) + Data("CPBK".utf8) + Data([1, 1, 0] + rounds) + Data(count: 112)
      await expectError(.unsupported) { _ = try await helper.decrypt(sealed, name: "token", passphrase: never) }
    }
  }

  // Requirement 4.11
  @Test("A value of one store does not open in another")
  func labels() async throws {
    let helper = { label in
      EncryptionHelper(
        configuration: configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") },
        label: label)
    }
    let sealed = try await helper("journal").encrypt(Self.secret, name: "token", policy: .aes256)
    #expect(try await helper("journal").decrypt(sealed, name: "token", policy: .aes256) == Self.secret)
    for other in ["", "settings"] {
      await expectError(.damaged) { _ = try await helper(other).decrypt(sealed, name: "token", policy: .aes256) }
    }
  }

  // Requirement 4.11
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
        Self.secret, name: "k", policy: SecurityPolicy.Encryption(.aes256, keyMaterial: "missing"))
    }
    await expectError(.invalidKey) { _ = try await helper().encrypt(Self.secret, name: "", policy: .aes256) }
  }
}
