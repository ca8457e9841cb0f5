import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("Values in binary form")
struct ServerValueTests {
  private func encoded(_ value: ServerValue) -> [UInt8] { Array(value.encoded ?? Data()) }

  @Test func scalars() {
    #expect(ServerValue.null.encoded == nil)
    #expect(encoded(.bool(true)) == [1])
    #expect(encoded(.int8(-2)) == [255, 255, 255, 255, 255, 255, 255, 254])
    #expect(encoded(.text("é")) == [0xC3, 0xA9])
    #expect(encoded(.milliseconds(.microseconds(1_001))) == Array("2ms".utf8))
    #expect(encoded(.bytes(Data([0, 1]).dropFirst())) == [1])
    #expect(encoded(.uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))) == Array(1...16))
  }

  @Test func arrays() {
    let head: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 17, 0, 0, 0, 3, 0, 0, 0, 1]
    let elements: [UInt8] = [0, 0, 0, 2, 7, 8, 255, 255, 255, 255, 0, 0, 0, 0]
    #expect(encoded(.bytesArray([Data([7, 8]), nil, Data()])) == head + elements)
    #expect(encoded(.int8Array([])) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20])
    #expect(encoded(.int8Array([1])).suffix(12) == [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1])
  }

  @Test func eachParameterHasAnAddress() {
    let value = Data(repeating: 7, count: 100)
    let call = ServerCall(
      ServerStatement("", [.bytes, .bytes, .text, .bytes]), [.bytes(Data()), .null, .text("ab"), .bytes(value)])
    #expect(call.isValid && call.size == 102)
    let isCalled = call.withParameters { values, sizes, formats in
      guard let values, let sizes, let formats else { return false }
      #expect(values[0] != nil)
      #expect(values[1] == nil)
      #expect(values[2].map { $0.pointee } == 97)
      #expect((0..<4).map { sizes[$0] } == [0, 0, 2, 100])
      #expect((0..<4).allSatisfy { formats[$0] == 1 })
      // A value is not copied before libpq does.
      #expect(value.withUnsafeBytes { UnsafeRawPointer(values[3]) == $0.baseAddress })
      return true
    }
    #expect(isCalled)
    #expect(!ServerCall(ServerStatement("", [.text]), []).isValid)
  }
}
