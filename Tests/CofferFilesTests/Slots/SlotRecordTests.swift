import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

@Suite struct SlotRecordTests {
  private let records = [
    SlotRecord(id: SlotID(owner: 1, number: 2), checksum: 3, size: 4, stamp: SlotStamp(5, 6, 7, 8)),
    SlotRecord(id: SlotID(owner: .max, number: .max), checksum: .max, size: .max, stamp: SlotStamp(.max)),
    SlotRecord(id: SlotID(owner: 0, number: 0), checksum: 0, size: 0, stamp: nil),
  ]

  @Test func comesBackAsItWasWritten() {
    for record in records {
      #expect(record.encoded.count == SlotRecord.size)
      #expect(record.encoded.withUnsafeBytes { SlotRecord($0) } == record)
    }
  }

  /// `docs/formats/files.md`, byte by byte.
  @Test func isWrittenAsDocumented() {
    var expected = Data([1]) + Data([0, 0, 0, 0, 0, 0, 0, 1]) + Data([0, 0, 0, 0, 0, 0, 0, 2]) + Data([3, 0, 0, 0])
    expected += Data([4, 0, 0, 0, 0, 0, 0, 0]) + Data([1])
    for word: UInt8 in 5...8 { expected += Data([word, 0, 0, 0, 0, 0, 0, 0]) }
    #expect(records[0].encoded == expected)
  }

  @Test func otherBytesAreNoRecord() {
    let whole = records[0].encoded
    for count in 0..<whole.count { #expect(whole.prefix(count).withUnsafeBytes { SlotRecord($0) } == nil) }
    #expect((whole + [0]).withUnsafeBytes { SlotRecord($0) } == nil)
    for (offset, byte) in [(0, UInt8(2)), (28, 0xFF), (29, 2)] {
      var damaged = whole
      damaged[offset] = byte
      #expect(damaged.withUnsafeBytes { SlotRecord($0) } == nil, "byte \(offset)")
    }
  }

  @Test func whatIsAcceptedIsWrittenAgainAsTheSame() {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<20_000 {
      var bytes = Data((0..<SlotRecord.size).map { _ in UInt8.random(in: .min ... .max, using: &random) })
      bytes[0] = UInt8.random(in: 0...2, using: &random)
      bytes[29] = UInt8.random(in: 0...2, using: &random)
      guard let record = bytes.withUnsafeBytes({ SlotRecord($0) }) else { continue }
      #expect(record.encoded == bytes)
    }
  }

  @Test func idsAreThirtyTwoDigits() {
    let id = SlotID(owner: 0xAB, number: 1)
    #expect(id.description == "00000000000000ab0000000000000001")
    #expect(SlotID(id.description) == id)
    for text in ["", "ab", id.description.uppercased(), id.description + "0", "+0000000000000ab0000000000000001"] {
      #expect(SlotID(text) == nil, "\(text)")
    }
  }
}
