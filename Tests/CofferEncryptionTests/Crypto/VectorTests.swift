import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// Published vectors: the expected results come from elsewhere.
struct VectorTests {
  @Test(
    "AES-256-GCM and ChaCha20-Poly1305",
    arguments: [
      ("aes-256-gcm.nist", AEAD.Algorithm.aes256GCM, 200), ("aes-256-gcm.wycheproof", .aes256GCM, 105),
      ("chacha20-poly1305.rfc8439", .chaCha20Poly1305, 2), ("chacha20-poly1305.wycheproof", .chaCha20Poly1305, 325),
    ])
  func ciphers(name: String, algorithm: AEAD.Algorithm, count: Int) throws {
    let vectors = try Vectors<AEADVector>(name).vectors
    #expect(vectors.count == count)
    for vector in vectors {
      let aead = try AEAD(algorithm, key: SecretBytes(copying: Data(hex: vector.key)))
      let (aad, plaintext, nonce) = (Data(hex: vector.aad), Data(hex: vector.plaintext), Data(hex: vector.nonce))
      let sealed = Data(hex: vector.nonce + vector.ciphertext + vector.tag)
      guard vector.isValid else {
        #expect(throws: (any Error).self, "\(vector.id)") { try aead.open(sealed, authenticating: aad) }
        if nonce.count != AEAD.nonceCount {
          #expect(throws: StorageError.self) { try aead.seal(plaintext, nonce: nonce, authenticating: aad) }
        }
        continue
      }
      guard nonce.count == AEAD.nonceCount else {
        // GCM permits other sizes, for which it hashes the nonce; they are refused.
        #expect(throws: StorageError.self) { try aead.seal(plaintext, nonce: nonce, authenticating: aad) }
        continue
      }
      #expect(try aead.seal(plaintext, nonce: nonce, authenticating: aad) == sealed, "\(vector.id)")
      #expect(try aead.open(sealed, authenticating: aad) == plaintext, "\(vector.id)")
      #expect(try aead.openSecret(sealed, authenticating: aad).data == plaintext, "\(vector.id)")
    }
  }

  @Test("HKDF-SHA-256", arguments: [("hkdf-sha256.rfc5869", 3), ("hkdf-sha256.wycheproof", 84)])
  func hkdf(name: String, count: Int) throws {
    let vectors = try Vectors<HKDFVector>(name).vectors
    #expect(vectors.count == count)
    for vector in vectors {
      let derive = {
        try hkdfSHA256(
          SecretBytes(copying: Data(hex: vector.key)), salt: Data(hex: vector.salt), info: Data(hex: vector.info),
          count: vector.count)
      }
      if vector.isValid {
        #expect(try derive().data.hex == vector.derived, "\(vector.id)")
      } else {
        #expect(throws: StorageError.self, "\(vector.id)") { try derive() }
      }
    }
  }

  @Test("HMAC-SHA-256")
  func hmac() throws {
    let vectors = try Vectors<HMACVector>("hmac-sha256.rfc4231").vectors
    #expect(vectors.count == 6)
    for vector in vectors {
      let code = try hmacSHA256(SecretBytes(copying: Data(hex: vector.key)), Data(hex: vector.message))
      #expect(code.hex == vector.code, "\(vector.id)")
    }
  }

  @Test("PBKDF2-HMAC-SHA-256")
  func pbkdf2() throws {
    let vectors = try Vectors<PBKDF2Vector>("pbkdf2-hmac-sha256").vectors
    #expect(vectors.count == 7)
    for vector in vectors {
      let derived = try uncheckedPBKDF2(
        SecretBytes(copying: Data(hex: vector.passphrase)), salt: Data(hex: vector.salt),
        rounds: PBKDF2Rounds(vector.rounds), count: vector.derived.count / 2)
      #expect(derived.data.hex == vector.derived, "\(vector.id)")
    }
  }

  @Test("scrypt; the cost of the first is below the safe minimum, so it is not validated")
  func scrypt() throws {
    let vectors = try Vectors<ScryptVector>("scrypt.rfc7914").vectors
    #expect(vectors.count == 4)
    for vector in vectors where vector.logN < 20 || isProving {  // the last one takes 1 GiB and some seconds
      let derived = try uncheckedScrypt(
        SecretBytes(copying: Data(hex: vector.passphrase)), salt: Data(hex: vector.salt),
        cost: ScryptCost(logN: vector.logN, r: vector.r, p: vector.p), count: vector.derived.count / 2)
      #expect(derived.data.hex == vector.derived, "\(vector.id)")
    }
  }

  @Test("Every file of vectors names its source")
  func sources() throws {
    struct Nothing: Decodable {}
    let names = [
      "aes-256-gcm.nist", "aes-256-gcm.wycheproof", "chacha20-poly1305.rfc8439", "chacha20-poly1305.wycheproof",
      "hkdf-sha256.rfc5869", "hkdf-sha256.wycheproof", "hmac-sha256.rfc4231", "pbkdf2-hmac-sha256", "scrypt.rfc7914",
    ]
    for name in names {
      let source = try Vectors<Nothing>(name).source
      #expect(["RFC", "NIST", "C2SP/wycheproof"].contains { source.hasPrefix($0) }, "\(name)")
    }
  }
}
