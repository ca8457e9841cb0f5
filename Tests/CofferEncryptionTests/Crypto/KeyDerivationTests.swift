import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

struct KeyDerivationTests {
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

  @Test("A key of PBKDF2 depends on everything, and the standard is 600,000 rounds")
  func pbkdf2() throws {
    let salt = Data(count: 16)
    func key(_ passphrase: String, _ salt: Data, _ rounds: Int) throws -> SecretBytes {
      try pbkdf2SHA256(SecretBytes(passphrase), salt: salt, rounds: PBKDF2Rounds(rounds), count: 32)
    }
    let first = try key("a", salt, 1_000)
    #expect(try key("a", salt, 1_000) == first)
    #expect(try key("b", salt, 1_000) != first)
    #expect(try key("a", Data(count: 17), 1_000) != first)
    #expect(try key("a", salt, 1_001) != first)
    #expect(PBKDF2Rounds.standard.count == 600_000)
  }

  @Test(
    "Rounds that protect nothing, or take hours, are refused before anything is derived",
    arguments: [.min, -1, 0, 1, 999, 15_000_001, Int(Int32.max) + 1, .max])
  func pbkdf2Refuses(rounds: Int) throws {
    let error = try storageError {
      _ = try pbkdf2SHA256(SecretBytes("a"), salt: Data(count: 16), rounds: PBKDF2Rounds(rounds), count: 32)
    }
    #expect(error.code == .unsupported)
  }

  @Test(
    "Sizes beyond the bounds are refused",
    arguments: [(0, 15, 32), (1, 0, 32), (1, 1_025, 32), (1, 16, 0), (1, 16, -1), (1, 16, 1_025), (65_537, 16, 32)])
  func pbkdf2Bounds(passphrase: Int, salt: Int, count: Int) throws {
    let error = try storageError {
      _ = try pbkdf2SHA256(
        .random(count: passphrase), salt: Data(count: salt), rounds: PBKDF2Rounds(1_000), count: count)
    }
    #expect(error.code == .unsupported)
  }

  @Test("A longer key counts as more work")
  func pbkdf2Work() throws {
    try PBKDF2Rounds(15_000_000).validate()
    #expect(try storageError { try PBKDF2Rounds(15_000_000).validate(keyCount: 33) }.code == .unsupported)
    var limits = PassphraseLimits()
    limits.seconds = 10
    try PBKDF2Rounds(15_000_000).validate(within: limits, keyCount: 64)
  }
}
