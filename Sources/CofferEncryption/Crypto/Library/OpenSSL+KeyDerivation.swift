import CofferCOpenSSL
import CofferCore
import Foundation

extension OpenSSL {
  static func hkdf(
    _ key: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer,
    into derived: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    guard let hkdf = algorithms.hkdf else { throw failure("it does not have HKDF", .unsupported) }
    guard let context = EVP_KDF_CTX_new(hkdf) else { throw failure("it is out of memory") }
    defer {
      EVP_KDF_CTX_free(context)
      wipeRegisters()
    }
    let parameters = algorithms.hkdf(key, salt: salt, info: info)
    guard EVP_KDF_derive(context, derived.octets, derived.count, parameters) == 1 else {
      throw failure("it could not derive a key")
    }
  }

  static func pbkdf2(
    _ passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, rounds: Int32,
    into derived: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    guard let sha256 = algorithms.sha256 else { throw failure("it does not have SHA-256", .unsupported) }
    defer { wipeRegisters() }
    let isDone = PKCS5_PBKDF2_HMAC(
      passphrase.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(passphrase.count), salt.octets,
      Int32(salt.count), rounds, sha256, Int32(derived.count), derived.octets)
    guard isDone == 1 else { throw failure("it could not derive a key from the passphrase") }
  }

  static func scrypt(
    _ passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, cost: ScryptCost,
    into derived: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    _ = isReady
    defer { wipeRegisters() }
    let isDone = EVP_PBE_scrypt(
      passphrase.baseAddress?.assumingMemoryBound(to: CChar.self), passphrase.count, salt.octets, salt.count,
      1 << UInt64(cost.logN), UInt64(cost.r), UInt64(cost.p), cost.memoryForLibrary, derived.octets, derived.count)
    guard isDone == 1 else { throw failure("it could not derive a key from the passphrase") }
  }
}
