import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

struct DataKeyTests {
  @Test("A data key has 32 bytes")
  func sizes() throws {
    for count in [0, 16, 31, 33, 64] {
      #expect(try storageError { _ = try DataKey(.random(count: count)) }.code == .unsupported)
    }
    #expect(try DataKey.random().material.count == 32)
  }

  @Test("The id depends on every bit of the key, and only on the key")
  func ids() throws {
    let material = try SecretBytes.random(count: 32)
    let key = try DataKey(material)
    #expect(try DataKey(material).id == key.id)
    for bit in 0..<256 {
      let other = try SecretBytes(count: 32) { bytes in
        material.withUnsafeBytes { bytes.copyMemory(from: $0) }
        bytes[bit / 8] ^= 1 << (bit % 8)
      }
      #expect(try DataKey(other).id != key.id)
    }
    #expect(key.id.bytes != material.data)
    #expect(KeyID(key.id.bytes) == key.id)
    #expect(KeyID(key.id.bytes.dropLast()) == nil)
    #expect(KeyID(key.id.bytes + [0]) == nil)
    #expect(KeyID((Data([9]) + key.id.bytes).dropFirst()) == key.id)
    #expect(key.id.short == key.id.bytes.prefix(4).hex)
  }

  @Test("Purposes have unrelated keys, and none is the key or its id")
  func purposes() throws {
    let key = try DataKey.random()
    let purposes: [DataKey.Purpose] = [.init("names"), .init("name"), .init("names "), .init("index")]
    let derived = try purposes.map { try key.derivedKey(for: $0) }
    #expect(Set(derived.map(\.id)).count == purposes.count)
    #expect(!derived.contains { $0.material == key.material })
    #expect(!derived.contains { $0.material.data == key.id.bytes })
    #expect(try key.derivedKey(for: .init("names")).id == derived[0].id)
  }

  @Test("A hash depends on the key and the message, and is no id, even of a message that looks like a label")
  func hashes() throws {
    let (key, other) = (try DataKey.random(), try DataKey.random())
    func hash(_ key: DataKey, _ text: String) throws -> Data {
      try Data(text.utf8).withUnsafeBytes { try key.keyedHash(of: $0) }
    }
    #expect(try hash(key, "a") == hash(key, "a"))
    #expect(try hash(key, "a") != hash(key, "b"))
    #expect(try hash(key, "a") != hash(other, "a"))
    #expect(try hash(key, "coffer key id v1") != key.id.bytes)
    #expect(try hash(key, "").count == 32)
  }

  @Test("A key is never printed")
  func descriptions() throws {
    let material = SecretBytes(copying: Data("open sesame, please, and quietly".utf8))
    let key = try DataKey(material)
    let hmac = try hmacSHA256(material, Data())
    var dumped = ""
    dump(key, to: &dumped)
    dump(try AEAD(.aes256GCM, key: material), to: &dumped)
    for text in ["\(key)", String(describing: key), String(reflecting: key), "\([key])", dumped, "\(hmac)"] {
      #expect(!text.contains("sesame"))
      #expect(!text.contains(material.data.hex))
    }
    #expect("\(key)" == "data key \(key.id.short)")
    #expect(Mirror(reflecting: key).children.isEmpty)
  }

  @Test("Codes of authentication are compared as a whole")
  func comparison() {
    let code = Data(0..<32)
    #expect(areEqual(code, Data(0..<32)))
    #expect(areEqual(Data(), Data()))
    #expect(!areEqual(code, code.dropLast()))
    #expect(!areEqual(Data(), code))
    for index in 0..<32 {
      var other = code
      other[index] ^= 0x80
      #expect(!areEqual(code, other))
    }
    #expect(areEqual((Data([1]) + code).dropFirst(), code))
  }
}
