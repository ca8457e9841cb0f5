import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

struct AEADTests {
  private let aad = Data("store/theme".utf8)

  private func cipher(_ algorithm: AEAD.Algorithm) throws -> AEAD { try AEAD(algorithm, key: .random(count: 32)) }

  @Test(arguments: AEAD.Algorithm.allCases)
  func emptyMessagesAndSlices(algorithm: AEAD.Algorithm) throws {
    let aead = try cipher(algorithm)
    let empty = try aead.seal(Data(), authenticating: Data())
    #expect(empty.count == AEAD.overhead)
    #expect(try aead.open(empty, authenticating: Data()) == Data())
    let message = Data("-dark-".utf8)[1..<5]
    let sealed = Data([7]) + (try aead.seal(message, authenticating: aad[2...])) + Data([7])
    #expect(try aead.open(sealed.dropFirst().dropLast(), authenticating: aad[2...]) == message)
    #expect(try aead.openSecret(sealed.dropFirst().dropLast(), authenticating: aad[2...]).data == message)
  }

  @Test func noncesDiffer() throws {
    let aead = try cipher(.aes256GCM)
    let nonces = try (0..<1000).map { _ in try aead.seal(Data(), authenticating: aad).prefix(AEAD.nonceCount) }
    #expect(Set(nonces).count == nonces.count)
  }

  @Test(arguments: AEAD.Algorithm.allCases)
  func onlyKeysAndNoncesOfTheRightLength(algorithm: AEAD.Algorithm) throws {
    let aead = try cipher(algorithm)
    for count in [0, 16, 24, 31, 33] {
      let error = try storageError { _ = try AEAD(algorithm, key: .random(count: count)) }
      #expect(error.code == .unsupported)
    }
    for count in [0, 8, 11, 13, 16] {
      let error = try storageError { _ = try aead.seal(Data(), nonce: Data(count: count), authenticating: aad) }
      #expect(error.code == .unsupported)
    }
  }

  /// Small parts instead of the 1 GiB that OpenSSL's 32-bit counts require, to test all boundaries between parts.
  @Test(arguments: AEAD.Algorithm.allCases, [1, 15, 16, 17, 64])
  func partsMakeNoDifference(algorithm: AEAD.Algorithm, partSize: Int) throws {
    let key = try SecretBytes.random(count: 32)
    let message = try randomBytes(1000)
    let whole = try AEAD(algorithm, key: key)
    let parts = try AEAD(algorithm, key: key, partSize: partSize)
    let nonce = try randomBytes(12)
    let sealed = try parts.seal(message, nonce: nonce, authenticating: message)
    #expect(try whole.seal(message, nonce: nonce, authenticating: message) == sealed)
    #expect(try parts.open(sealed, authenticating: message) == message)
  }

  @Test func manyThreads() async throws {
    let aead = try cipher(.aes256GCM)
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
    let aead = try cipher(.aes256GCM)
    var message = Data(count: 1 << 30 + 5)
    message[message.count - 1] = 1
    var sealed = try aead.seal(message, authenticating: aad)
    #expect(try aead.open(sealed, authenticating: aad) == message)
    sealed[sealed.count - 1] ^= 1
    #expect(throws: AuthenticationFailure()) { try aead.open(sealed, authenticating: aad) }
  }
}
