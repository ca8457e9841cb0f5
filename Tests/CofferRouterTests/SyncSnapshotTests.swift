import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// The format of snapshots, and data that is not one.
@Suite(.timeLimit(.minutes(15))) struct SyncSnapshotTests {
  private let date = Date(timeIntervalSince1970: 1_000_000_000)

  private func example() throws -> SyncSnapshot {
    var attributes = ValueAttributes()
    attributes.expires = date
    return SyncSnapshot(
      values: ["b": .init(Data([1]), attributes: attributes), "d/1": .init(Data())], absent: ["a", "c"],
      families: ["d/", "e/"])
  }

  @Test("Everything survives encoding, and equal snapshots have equal bytes")
  func roundTrip() async throws {
    let snapshot = try example()
    let encoded = try snapshot.encoded
    #expect(try SyncSnapshot(decoding: encoded) == snapshot)
    #expect(try SyncSnapshot(decoding: encoded).encoded == encoded)
    #expect(String(decoding: encoded, as: UTF8.self).contains(#"{"name":"a"}"#))
    #expect(String(decoding: encoded, as: UTF8.self).contains(#"{"name":"d\/1","value":""}"#))
  }

  // Requirement 4.43
  @Test("A snapshot distinguishes removed keys from those that it does not include")
  func states() async throws {
    let snapshot = try example()
    #expect(snapshot.state(of: "a") == .absent)
    #expect(snapshot.state(of: "b") == .absent, "expired")
    #expect(snapshot.state(of: "b", at: date - 1) == snapshot.values["b"].map { .value($0) })
    #expect(snapshot.state(of: "d/1") == .value(.init(Data())))
    #expect(snapshot.state(of: "d/2") == .absent)
    #expect(snapshot.state(of: "d") == .notIncluded)
    #expect(SyncSnapshot().isEmpty && !SyncSnapshot(families: ["d/"]).isEmpty)
  }

  private static let invalid = [
    "", "x", "{}", "[1]", "[{}]", #"[{"name":""}]"#, #"[{"name":1}]"#, #"[{"value":""}]"#, #"[{"family":""}]"#,
    #"[{"name":"a","value":"!"}]"#, #"[{"name":"a","value":7}]"#, #"[{"name":"a","family":"b"}]"#,
    #"[{"name":"a","value":""},{"name":"a","value":""}]"#, #"[{"name":"a"},{"name":"a"}]"#,
    #"[{"name":"a","value":""},{"name":"a"}]"#, #"[{"name":"a"},{"name":"a","value":""}]"#,
    #"[{"family":"a"},{"family":"a"}]"#, #"[{"name":"a","attributes":""}]"#,
    #"[{"name":"a","value":"","attributes":"AQ=="}]"#, #"[{"name":"a","value":"","attributes":"AwgAAA=="}]"#,
    #"[{"name":""# + String(repeating: "x", count: 1_025) + #""}]"#,
    String(repeating: "[", count: 100_000),
    #"[{"name":"a","value":"","attributes":""# + Data(count: 10_000).base64EncodedString() + #""}]"#,
  ]

  @Test("Other data is refused", arguments: invalid)
  func hostile(_ text: String) async throws {
    await expectError(.decodingFailed) { _ = try SyncSnapshot(decoding: Data(text.utf8)) }
  }

  @Test("Every part of a snapshot is refused, and no changed byte traps")
  func damaged() async throws {
    let encoded = try example().encoded
    for end in 0..<encoded.count { #expect(throws: StorageError.self) { try SyncSnapshot(decoding: encoded[..<end]) } }
    for index in encoded.indices {
      for byte in [0, 34, 44, 91, 125, 255] as [UInt8] {
        var changed = encoded
        changed[index] = byte
        _ = try? SyncSnapshot(decoding: changed).encoded
      }
    }
  }
}
