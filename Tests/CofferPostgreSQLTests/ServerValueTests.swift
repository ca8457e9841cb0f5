import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("Values in binary form")
struct ServerValueTests {
  private func encoded(_ value: ServerValue) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: value.encodedSize)
    let rest = bytes.withUnsafeMutableBytes { memory in
      var writer = ValueWriter(memory)
      value.encode(into: &writer)
      return writer.rest.count
    }
    #expect(rest == 0, "\(value) has a smaller form than announced")
    return bytes
  }

  @Test func scalars() {
    #expect(encoded(.null) == [])
    #expect(encoded(.bool(true)) == [1])
    #expect(encoded(.int8(-2)) == [255, 255, 255, 255, 255, 255, 255, 254])
    #expect(encoded(.text("é")) == [0xC3, 0xA9])
    #expect(encoded(.bytes(Data([0, 1]).dropFirst())) == [1])
    #expect(encoded(.uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))) == Array(1...16))
  }

  @Test func arrays() {
    let head: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 17, 0, 0, 0, 3, 0, 0, 0, 1]
    let elements: [UInt8] = [0, 0, 0, 2, 7, 8, 255, 255, 255, 255, 0, 0, 0, 0]
    #expect(encoded(.bytesArray([Data([7, 8]), nil, Data()])) == head + elements)
    #expect(encoded(.int8Array([])) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20])
    #expect(encoded(.int8Array([1])).suffix(12) == [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1])
    #expect(encoded(.textArray(["a"])).suffix(5) == [0, 0, 0, 1, 97])
  }

  @Test func eachParameterHasAnAddress() {
    let call = EncodedCall(
      ServerCall(ServerStatement("", [.bytes, .bytes, .text]), [.bytes(Data()), .null, .text("ab")]))
    #expect(call.isValid)
    #expect(call.values[0] != nil)
    #expect(call.values[1] == nil)
    #expect(call.values[2].map { $0.pointee } == 97)
    #expect((0..<3).map { call.sizes[$0] } == [0, 0, 2])
    #expect(!EncodedCall(ServerCall(ServerStatement("", [.text]), [])).isValid)
  }
}
