import CofferCore
import Foundation
import Testing

struct ValueAttributesTests {
  private let number = ValueAttribute<UInt64>(applicationCode: 130)
  private let text = ValueAttribute<String>(applicationCode: 128)
  private let date = ValueAttribute<Date>(applicationCode: 255)
  private let byte = ValueAttribute<UInt8>(applicationCode: 200)

  @Test func whatIsSetIsRead() throws {
    var attributes = ValueAttributes()
    #expect(attributes.isEmpty && attributes.encoded.isEmpty && attributes == .none)
    attributes[number] = .max
    attributes[text] = "caf\u{e9}"
    attributes[date] = Date(timeIntervalSince1970: 1_700_000_000.1234)
    attributes[byte] = 7
    #expect(attributes[number] == .max && attributes[text] == "caf\u{e9}" && attributes[byte] == 7)
    #expect(attributes[date] == Date(timeIntervalSince1970: 1_700_000_000.123))
    #expect(ValueAttributes(encoded: attributes.encoded) == attributes)
    attributes[number] = nil
    attributes[text] = ""
    #expect(attributes[number] == nil && attributes[text] == "" && attributes[byte] == 7)
    for code in [text.code, byte.code, date.code] { attributes[ValueAttribute<String>(applicationCode: code)] = nil }
    #expect(attributes.isEmpty)
  }

  @Test func theOrderOfSettingSaysNothing() {
    var (one, other) = (ValueAttributes(), ValueAttributes())
    one[number] = 1
    one[text] = "a"
    other[text] = "b"
    other[number] = 1
    other[text] = "a"
    #expect(one == other && one.encoded == [128, 1, 0, 97, 130, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    #expect(one[ValueAttribute<UInt64>(applicationCode: 128)] == nil)  // of another type
  }

  @Test func laterOnesReplaceEarlierOnes() {
    var (one, other) = (ValueAttributes(), ValueAttributes())
    one[number] = 1
    one[byte] = 1
    other[number] = 2
    other[text] = "t"
    let merged = one.merging(other)
    #expect(merged[number] == 2 && merged[byte] == 1 && merged[text] == "t")
    #expect(one.merging(.none) == one && ValueAttributes.none.merging(one) == one)
  }

  /// A flipped bit in the structure is detected or changes one content; nothing is read beyond the end.
  @Test func damagedBytesAreNoAttributes() throws {
    var attributes = ValueAttributes()
    attributes[text] = "abc"
    attributes[number] = 5
    let whole = attributes.encoded
    for end in 1..<whole.count where end != 6 { #expect(ValueAttributes(encoded: whole.prefix(end)) == nil, "\(end)") }
    for index in whole.indices {
      for bit in 0..<8 {
        var bytes = whole
        bytes[index] ^= 1 << bit
        guard let read = ValueAttributes(encoded: bytes) else { continue }
        #expect(read.encoded == bytes)
        _ = (read[text], read[number], read[byte])
      }
    }
    #expect(ValueAttributes(encoded: whole + whole) == nil)  // not in order
    #expect(ValueAttributes(encoded: [UInt8](repeating: 0, count: 2_000)) == nil)
  }

  /// An attribute of any length above the limit is refused and never traps.
  @Test(arguments: [1_022, 1_025, 70_000, 1_000_000])
  func tooLongIsRefused(_ count: Int) async throws {
    var attributes = ValueAttributes()
    attributes[text] = String(repeating: "a", count: count)
    let error = try await #require(throws: StorageError.self) {
      try await MemoryEngine().commit(WriteBatch([.put(KeyName("k"), Data(), attributes)]), from: StoreOrigin())
    }
    #expect(error.code == .valueTooLarge)
  }
}
