import CofferCore
import CofferCrypto
import CofferTestSupport
import Foundation
import Testing

struct AESGCMTests {
  private let aead: AESGCM
  private let aad = Data("store/theme".utf8)

  init() throws { aead = try AESGCM(key: .random(count: 32)) }

  @Test(arguments: GCMVector.published)
  func published(vector: GCMVector) throws {
    let aead = try AESGCM(key: SecretBytes(copying: Data(hex: vector.key)))
    let sealed = try aead.seal(
      Data(hex: vector.plaintext), nonce: Data(hex: vector.nonce), authenticating: Data(hex: vector.aad))
    #expect(sealed.hex == vector.nonce + vector.ciphertext + vector.tag)
    #expect(try aead.open(sealed, authenticating: Data(hex: vector.aad)).hex == vector.plaintext)
  }

  @Test func everyChangedBitIsNoticed() throws {
    let sealed = try aead.seal(Data("dark".utf8), authenticating: aad)
    for index in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[index] ^= 1 << bit
        #expect(throws: AuthenticationFailure()) { try aead.open(changed, authenticating: aad) }
      }
    }
    #expect(try aead.open(sealed, authenticating: aad) == Data("dark".utf8))
  }

  @Test func everyOtherLengthIsNoticed() throws {
    let sealed = try aead.seal(Data("a theme of some length, more than a block".utf8), authenticating: aad)
    for count in 0..<sealed.count {
      #expect(throws: AuthenticationFailure()) { try aead.open(sealed.prefix(count), authenticating: aad) }
      #expect(throws: AuthenticationFailure()) { try aead.open(sealed.suffix(count), authenticating: aad) }
    }
    #expect(throws: AuthenticationFailure()) { try aead.open(sealed + [0], authenticating: aad) }
  }

  @Test func circumstancesAndKeyMatter() throws {
    let sealed = try aead.seal(Data("dark".utf8), authenticating: aad)
    for other in [Data(), aad.dropLast(), aad + [0], Data("store/themf".utf8)] {
      #expect(throws: AuthenticationFailure()) { try aead.open(sealed, authenticating: other) }
    }
    let other = try AESGCM(key: .random(count: 32))
    #expect(throws: AuthenticationFailure()) { try other.open(sealed, authenticating: aad) }
  }

  @Test func emptyMessagesAndSlices() throws {
    let empty = try aead.seal(Data(), authenticating: Data())
    #expect(empty.count == AESGCM.overhead)
    #expect(try aead.open(empty, authenticating: Data()) == Data())
    let message = Data("-dark-".utf8)[1..<5]
    let sealed = Data([7]) + (try aead.seal(message, authenticating: aad[2...])) + Data([7])
    #expect(try aead.open(sealed.dropFirst().dropLast(), authenticating: aad[2...]) == message)
  }

  @Test func noncesDiffer() throws {
    let nonces = try (0..<1000).map { _ in try aead.seal(Data(), authenticating: aad).prefix(AESGCM.nonceCount) }
    #expect(Set(nonces).count == nonces.count)
  }

  @Test func onlyKeysAndNoncesOfTheRightLength() throws {
    for count in [0, 16, 24, 31, 33] {
      let error = try storageError { _ = try AESGCM(key: .random(count: count)) }
      #expect(error.code == .unsupported)
    }
    for count in [0, 8, 11, 13, 16] {
      let error = try storageError { _ = try aead.seal(Data(), nonce: Data(count: count), authenticating: aad) }
      #expect(error.code == .unsupported)
    }
  }

  /// Small parts instead of the 1 GiB that OpenSSL's 32-bit counts require, to test all boundaries between parts.
  @Test(arguments: [1, 15, 16, 17, 64])
  func partsMakeNoDifference(partSize: Int) throws {
    let key = try SecretBytes.random(count: 32)
    let message = try randomBytes(1000)
    let whole = try AESGCM(key: key)
    let parts = try AESGCM(key: key, partSize: partSize)
    let nonce = try randomBytes(12)
    let sealed = try parts.seal(message, nonce: nonce, authenticating: message)
    #expect(try whole.seal(message, nonce: nonce, authenticating: message) == sealed)
    #expect(try parts.open(sealed, authenticating: message) == message)
  }

  @Test func manyThreads() async throws {
    let aead = aead
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<8 {
        group.addTask {
          try (0..<200).allSatisfy { round in
            let message = Data("\(number) \(round)".utf8)
            return try aead.open(aead.seal(message, authenticating: message), authenticating: message) == message
          }
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
  }

  @Test(.enabled(if: isProving, "it takes 3 GiB of memory"))
  func proveThatAGibibyteIsSealed() throws {
    var message = Data(count: 1 << 30 + 5)
    message[message.count - 1] = 1
    var sealed = try aead.seal(message, authenticating: aad)
    #expect(try aead.open(sealed, authenticating: aad) == message)
    sealed[sealed.count - 1] ^= 1
    #expect(throws: AuthenticationFailure()) { try aead.open(sealed, authenticating: aad) }
  }
}
