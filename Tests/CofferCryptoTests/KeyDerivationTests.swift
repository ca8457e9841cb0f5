import CofferCore
import CofferCrypto
import CofferTestSupport
import Foundation
import Testing

struct KeyDerivationTests {
  struct HKDFVector: Sendable {
    let key: String
    let salt: String
    let info: String
    let derived: String
  }

  /// RFC 5869, appendix A.1 to A.3.
  @Test(arguments: [
    HKDFVector(
      key: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", salt: "000102030405060708090a0b0c",
      info: "f0f1f2f3f4f5f6f7f8f9",
      derived: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
    HKDFVector(
      key: bytes(0x00...0x4F), salt: bytes(0x60...0xAF), info: bytes(0xB0...0xFF),
      derived: "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"),
    HKDFVector(
      key: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", salt: "", info: "",
      derived: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
  ])
  func publishedHKDF(vector: HKDFVector) throws {
    let derived = try hkdfSHA256(
      SecretBytes(copying: Data(hex: vector.key)), salt: Data(hex: vector.salt), info: Data(hex: vector.info),
      count: vector.derived.count / 2)
    #expect(derived.data.hex == vector.derived)
  }

  private static func bytes(_ range: ClosedRange<UInt8>) -> String { Data(range).hex }

  @Test(arguments: [(0, 32, 0), (32, 0, 0), (32, -1, 0), (32, 8161, 0), (32, 32, 1025)])
  func hkdfSaysWhatItCannotDo(keyCount: Int, count: Int, infoCount: Int) throws {
    let key = try SecretBytes.random(count: keyCount)
    let error = try storageError { _ = try hkdfSHA256(key, salt: Data(), info: Data(count: infoCount), count: count) }
    #expect(error.code == .unsupported)
  }

  @Test func hkdfAtItsLimits() throws {
    let key = try hkdfSHA256(.random(count: 32), salt: Data(count: 1024), info: Data(count: 1024), count: 8160)
    #expect(key.count == 8160)
  }

  struct ScryptVector: Sendable {
    let passphrase: String
    let salt: String
    let cost: ScryptCost
    let derived: String
  }

  /// RFC 7914, section 12. The cost of the first is below the safe minimum, so it is not validated.
  @Test(arguments: [
    ScryptVector(
      passphrase: "", salt: "", cost: ScryptCost(logN: 4, r: 1, p: 1),
      derived: "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
        + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"),
    ScryptVector(
      passphrase: "password", salt: "NaCl", cost: ScryptCost(logN: 10, r: 8, p: 16),
      derived: "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"),
    ScryptVector(
      passphrase: "pleaseletmein", salt: "SodiumChloride", cost: ScryptCost(logN: 14, r: 8, p: 1),
      derived: "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"),
  ])
  func publishedScrypt(vector: ScryptVector) throws {
    let derived = try uncheckedScrypt(
      SecretBytes(vector.passphrase), salt: Data(vector.salt.utf8), cost: vector.cost, count: 64)
    #expect(derived.data.hex == vector.derived)
  }

  @Test(.enabled(if: isProving, "it takes 1 GiB of memory and some seconds"))
  func proveScryptOfAGibibyte() throws {
    let derived = try scrypt(
      SecretBytes("pleaseletmein"), salt: Data("SodiumChloride".utf8), cost: ScryptCost(logN: 20, r: 8, p: 1),
      count: 64, limits: gibibyte)
    #expect(
      derived.data.hex == "2101cb9b6a511aaeaddbbe09cf70f881ec568d574a2ffd4dabe5ee9820adaa47"
        + "8e56fd8f4ba5d09ffa1c6d927c40f4c337304049e8a952fbcbf45c6fa77a41a4")
  }

  @Test(arguments: [
    ScryptCost(logN: 10, r: 1, p: 1), .standard, ScryptCost(logN: 18, r: 8, p: 1), ScryptCost(logN: 20, r: 2, p: 1),
    ScryptCost(logN: 17, r: 8, p: 10),
  ])
  func allowed(cost: ScryptCost) throws { try cost.validate() }

  private var gibibyte: PassphraseLimits {
    var limits = PassphraseLimits()
    limits.memory = 1 << 30
    return limits
  }

  @Test func moreMemoryAndTimeIsAllowedWhenThatIsSaid() throws {
    let cost = ScryptCost(logN: 20, r: 8, p: 1)
    #expect(try storageError { try cost.validate() }.description.contains("1024 MiB"))
    try cost.validate(within: gibibyte)
    var limits = gibibyte
    limits.seconds = 3.9
    let error = try storageError { try cost.validate(within: limits) }
    #expect(error.description.contains("4.0 s"), "\(error)")
  }

  @Test(arguments: [
    ScryptCost(logN: 9, r: 8, p: 1), ScryptCost(logN: 22, r: 1, p: 1), ScryptCost(logN: 17, r: 0, p: 1),
    ScryptCost(logN: 10, r: 1 << 31, p: 1), ScryptCost(logN: 17, r: 8, p: 0), ScryptCost(logN: 17, r: 8, p: 11),
    ScryptCost(logN: 19, r: 8, p: 1), ScryptCost(logN: 18, r: 9, p: 1), ScryptCost(logN: 16, r: 1, p: 1),
    ScryptCost(logN: 10, r: 1, p: 1 << 31), ScryptCost(logN: 255, r: 1 << 32 - 1, p: 1 << 32 - 1),
    ScryptCost(logN: .max, r: .max, p: .max), ScryptCost(logN: .min, r: .min, p: .min),
  ])
  func refused(cost: ScryptCost) throws {
    #expect(try storageError { try cost.validate() }.code == .unsupported)
    let error = try storageError { _ = try scrypt(SecretBytes("a"), salt: Data("b".utf8), cost: cost, count: 32) }
    #expect(error.code == .unsupported)
  }

  @Test func saltAndPassphraseMatter() throws {
    let cost = ScryptCost(logN: 10, r: 1, p: 1)
    func key(_ passphrase: String, _ salt: String) throws -> SecretBytes {
      try scrypt(SecretBytes(passphrase), salt: Data(salt.utf8), cost: cost, count: 32)
    }
    #expect(try key("a", "salt") == key("a", "salt"))
    #expect(try key("a", "salt") != key("b", "salt"))
    #expect(try key("a", "salt") != key("a", "Salt"))
  }
}
