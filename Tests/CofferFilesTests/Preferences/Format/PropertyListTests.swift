import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferFiles

/// The file format: every encoded document decodes to the same, and anything but a property list is damage.
@Suite(.blocking) struct PropertyListTests {
  private let format = PropertyListFormat()

  @Test(arguments: [false, true]) func randomTreesComeBack(isBinary: Bool) throws {
    var random = SeededGenerator(seed: 0xC0FFEE)
    for round in 0..<1_000 {
      var document = PropertyListDocument()
      document.isBinary = isBinary
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        guard let key = try? KeyName(RandomPreference.text(&random)) else { continue }
        document.values[key] = RandomPreference.value(&random)
      }
      let again = try format.decode(format.encode(document))
      #expect(again.values == document.values, "round \(round)")
      #expect(again.others.isEmpty)
      if isBinary { #expect(again.isBinary) }
    }
  }

  /// A save encodes the entry that it changes and copies the others.
  @Test func savesOfSingleValuesMakeTheFileOfAWholeEncoding() throws {
    var random = SeededGenerator(seed: 11)
    var keys: [KeyName] = ["CF$UID", "plain", KeyName("\u{E9}"), KeyName("e\u{301}")]
    for _ in 0..<30 { if let key = try? KeyName(RandomPreference.text(&random)) { keys.append(key) } }
    var document = PropertyListDocument()
    for round in 0..<2_000 {
      guard let key = keys.randomElement(using: &random) else { break }
      if round.isMultiple(of: 3) {
        format.remove(key, from: &document)
      } else {
        let value = RandomPreference.value(&random)
        let version = SlotID(owner: 1, number: UInt64(round))
        format.set(key, to: PreferenceItem(data: value.bytes, kind: value.kind), version: version, in: &document)
      }
      let file = try format.encode(&document)
      var whole = PropertyListDocument()
      whole.values = document.values
      #expect(try file == format.encode(&whole), "round \(round)")
      #expect(try format.decode(file).values == document.values, "round \(round)")
    }
  }

  /// A dictionary of one entry of this name is none to XML, also the outermost one.
  @Test("A suite whose only value has a reserved name can be read again")
  func reservedName() throws {
    var document = PropertyListDocument()
    document.values["CF$UID"] = .integer(5)
    let again = try format.decode(format.encode(document))
    #expect(again.values == document.values)
  }

  /// The bytes that `TypedStore` decodes convert back to the same value, or the conversion fails.
  @Test func bytesMakeTheSameValue() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<1_000 {
      let value = RandomPreference.value(&random)
      #expect(PreferenceValue(value.bytes, like: value) == value)
      if value.kind != .collection, value.date == nil || value.date == value.date {
        #expect(PreferenceValue(value.bytes, as: value.kind) == value, "\(value)")
      }
    }
  }

  @Test(arguments: RandomPreference.nasty) func nastyTextIsKept(_ text: String) throws {
    var document = PropertyListDocument()
    document.values[KeyName("value")] = .string(text)
    document.values[KeyName("nested")] = .dictionary([PreferenceValue.Entry(text, .array([.string(text)]))])
    if let key = try? KeyName(text) { document.values[key] = 1 }
    let again = try format.decode(format.encode(document))
    #expect(Set(again.values.keys) == Set(document.values.keys))
    #expect(again.values[KeyName("value")]?.string.map { Array($0.utf8) } == Array(text.utf8))
    guard case .dictionary(let entries)? = again.values[KeyName("nested")] else {
      Issue.record("not a dictionary")
      return
    }
    #expect(entries.map { Array($0.name.utf8) } == [Array(text.utf8)])
    #expect(entries.first?.value.array?.first?.string.map { Array($0.utf8) } == Array(text.utf8))
  }

  /// The composed and the decomposed é are different keys, although Foundation treats their names as equal.
  @Test func twoFormsOfOneNameAreTwoKeys() throws {
    var document = PropertyListDocument()
    for number in 0..<40 {
      document.values[try KeyName("e\u{301}\(number)")] = "decomposed"
      document.values[try KeyName("\u{E9}\(number)")] = "composed"
    }
    let again = try format.decode(format.encode(document))
    #expect(again.values == document.values)
  }

  /// Another program's name is preserved beside a canonically equivalent key, which Foundation treats as equal.
  @Test func anotherFormOfAForeignNameIsKept() throws {
    let file = Data("<plist><dict><key>e\u{301}</key><string>theirs</string></dict></plist>".utf8)
    var document = try format.decode(file)
    #expect(document.values.isEmpty && document.others.count == 1)
    document.values[KeyName("\u{E9}")] = "ours"
    let again = try format.decode(format.encode(document))
    #expect(again.values == document.values)
    #expect(again.others.map { Array($0.name.utf8) } == [Array("e\u{301}".utf8)])
    #expect(again.others.map(\.value) == [.string("theirs")])
  }

  @Test func whatXMLWouldLoseMakesTheFileBinary() throws {
    let far = Date(timeIntervalSinceReferenceDate: 1e18)
    let lossy: [PreferenceValue] = [
      .date(Date(timeIntervalSinceReferenceDate: 0.5)), .date(far), .real(-0.0), "\u{1}", "\r", "\u{FEFF}",
      .dictionary([PreferenceValue.Entry("\u{1}", 1)]), .array([.array([.real(-0.0)])]),
    ]
    for value in lossy {
      var document = PropertyListDocument()
      document.values[KeyName("k")] = value
      let file = try format.encode(document)
      #expect(file.starts(with: Data("bplist00".utf8)), "\(value)")
      let read = try format.decode(file).values[KeyName("k")]
      #expect(read == value)
      if case .real(let number)? = read { #expect(number.sign == .minus) }
    }
    var document = PropertyListDocument()
    for (name, value) in ["a": 1, "b": 0.1, "c": true, "d": "ü\n\t", "e": .unsigned(.max)] as [String: PreferenceValue]
    {
      document.values[try KeyName(name)] = value
    }
    #expect(try format.encode(document).starts(with: Data("<?xml".utf8)))
  }

  @Test(arguments: [
    "", " \n", "a = b;", "{ a = b; }", "text", "<plist><array/></plist>", "<plist><string>x</string></plist>",
    "<?xml version=\"1.0\"?>", "\0\0\0\0\0\0\0\0", "bplist00", "<plist><dict><key>a</key></dict></plist>",
    "(((", "<0fbd77>",
  ])
  func noPropertyListIsDamage(_ text: String) {
    #expect(throws: StorageError.self) { try format.decode(Data(text.utf8)) }
  }

  @Test func everyTruncationIsDamageOrWhole() throws {
    for isBinary in [false, true] {
      var document = PropertyListDocument()
      document.isBinary = isBinary
      for number in 0..<20 { document.values[try KeyName("key\(number)")] = .integer(Int64(number)) }
      let file = try format.encode(document)
      for end in 0..<file.count {
        guard let part = try? format.decode(file.prefix(end)) else { continue }
        #expect(part.values == document.values, "\(end) of \(file.count)")
      }
    }
  }

  /// Thirty arrays each of which refers to the next one twice expand to a billion values.
  @Test func sharedCollectionsDoNotExplode() {
    #expect(throws: StorageError.self) { try format.decode(Hostile.sharedArrays(depth: 30)) }
  }

  /// Chains of arrays, each of which ends in the chain before it, which was measured already.
  @Test(arguments: [(1, 500, true), (1, 520, false), (2, 250, true), (36, 500, false)])
  func sharedCollectionsAreNoDeeperThanOthers(chains: Int, length: Int, isAccepted: Bool) {
    let file = Hostile.chains(chains, length: length)
    #expect(((try? format.decode(file)) != nil) == isAccepted)
  }

  /// Of two names that are equal to Foundation it would keep one, and the next save would lose the other entry.
  @Test func entriesWithEqualNamesAreRefused() {
    let entries = "<dict><key>\u{E9}</key><true/><key>e\u{301}</key><true/></dict>"
    for entries in [entries, "<dict><key>a</key><array>\(entries)</array></dict>"] {
      let file = "\(XMLPropertyList.declaration)\(XMLPropertyList.start)\(entries)</plist>"
      #expect { try format.decode(Data(file.utf8)) } throws: { ($0 as? StorageError)?.code == .unsupported }
    }
    // {é: true, e\u{301}: true}
    let names: [[UInt8]] = [[0x61, 0, 0xE9], [0x62, 0, 0x65, 3, 1]]
    #expect(throws: StorageError.self) { try format.decode(Hostile.file([[0xD2, 1, 2, 3, 3]] + names + [[0x09]])) }
    #expect(throws: Never.self) {
      try format.decode(Hostile.file([[0xD2, 1, 2, 3, 3], names[0], [0x51, 0x65], [0x09]]))
    }
  }

  @Test func integersOfMoreThan64BitsAreDamage() throws {
    func file(_ bytes: [UInt8]) -> Data { Hostile.file([[0xD1, 1, 2], [0x51, 0x61], bytes]) }
    let large: [UInt8] = [0x14] + Array(repeating: 0, count: 8) + Array(repeating: 0xFF, count: 8)
    #expect(try format.decode(file(large)).values[KeyName("a")] == .unsigned(.max))
    var larger = large
    larger[8] = 1
    for bytes in [larger, [0x15] + Array(repeating: 0, count: 32)] {
      #expect(throws: StorageError.self) { try format.decode(file(bytes)) }
    }
  }

  @Test func equalCollectionsAreNoSharedOnes() throws {
    var document = PropertyListDocument()
    document.isBinary = true
    for name in ["a", "b", "c"] { document.values[try KeyName(name)] = ["x": [1, 2], "y": [1, 2], "z": []] }
    #expect(try format.decode(format.encode(document)).values == document.values)
  }

  @Test(arguments: [400, 600, 100_000]) func deepNestingDoesNotCrash(depth: Int) {
    for start in ["<plist>", "\(XMLPropertyList.declaration)\(XMLPropertyList.start)"] {
      let open = String(repeating: "<array>", count: depth)
      let text = "\(start)<dict><key>a</key>\(open)\(String(repeating: "</array>", count: depth))</dict></plist>"
      let document = try? format.decode(Data(text.utf8))
      if depth > 512 { #expect(document == nil) }
      // A listing converts deeply nested values to bytes as well.
      if let document { for key in format.keys(of: document) { _ = format.content(of: key, in: document) } }
    }
  }

  /// A slice of `./run fuzz`: a valid file with some bytes changed.
  @Test(arguments: [false, true]) func damagedBytesDoNotCrash(isBinary: Bool) throws {
    var random = SeededGenerator(seed: 99)
    var document = PropertyListDocument()
    document.isBinary = isBinary
    document.values = [
      KeyName("a"): ["x": [1, 2.5, true]], KeyName("b"): "text", KeyName("c"): .data(Data([1, 2])),
      KeyName("d"): .date(Date(timeIntervalSinceReferenceDate: 1)),
    ]
    let file = try format.encode(document)
    for _ in 0..<3_000 {
      var bytes = file
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: .min ... .max, using: &random)
      }
      guard let read = try? format.decode(bytes) else { continue }
      let again = try format.decode(format.encode(read))
      #expect(again.isSame(as: read), "\(Array(bytes))")
    }
  }

  /// Foundation reads what is written as XML, and what is read here without Foundation, also of damaged files, is what
  /// Foundation reads.
  @Test func foundationReadsTheSame() throws {
    var random = SeededGenerator(seed: 35)
    var accepted = 0
    for round in 0..<2_000 {
      let entries = (0..<3).map { PreferenceValue.Entry("k\($0)", RandomPreference.value(&random)) }.filter(
        \.fitsIntoXML)
      var file = XMLPropertyListWriter.data(entries)
      #expect(try foundationValue(file) == .dictionary(entries), "round \(round)")
      #expect(try XMLPropertyListReader.value(of: file) == .dictionary(entries))
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        let changed = [.random(in: .min ... .max, using: &random), UInt8(ascii: "0"), UInt8(ascii: "-")]
        file[Int.random(in: 150..<file.count, using: &random)] = changed.randomElement(using: &random) ?? 0
      }
      guard let value = try? XMLPropertyListReader.value(of: file) else { continue }
      accepted += 1
      #expect(try value == foundationValue(file), "\(String(decoding: file, as: UTF8.self))")
    }
    #expect(accepted > 50)
  }

  private func foundationValue(_ file: Data) throws -> PreferenceValue {
    let list = try PropertyListSerialization.propertyList(from: file, options: [], format: nil)
    return try #require(PreferenceValue(propertyList: list, of: file.count))
  }

  @Test(arguments: [Double.nan, -Double.nan, .signalingNaN, Double(nan: 7, signaling: false), .infinity, -.infinity])
  func noNumberIsKept(_ number: Double) throws {
    let file = XMLPropertyListWriter.data([PreferenceValue.Entry("a", .real(number))])
    for value in [try foundationValue(file), try #require(try XMLPropertyListReader.value(of: file))] {
      guard case .dictionary(let entries) = value, let read = entries.first?.value.real else {
        Issue.record("\(value)")
        continue
      }
      #expect(read == number || read.isNaN && number.isNaN)
    }
  }

  @Test func datesAreThoseOfFoundation() throws {
    var random = SeededGenerator(seed: 1_582)
    for _ in 0..<2_000 {
      let range = Date.distantPast.timeIntervalSince1970...Date.distantFuture.timeIntervalSince1970
      let date = Date(timeIntervalSince1970: Double.random(in: range, using: &random).rounded())
      let file = XMLPropertyListWriter.data([PreferenceValue.Entry("a", .date(date))])
      #expect(try foundationValue(file) == .dictionary([PreferenceValue.Entry("a", .date(date))]))
      #expect(try XMLPropertyListReader.value(of: file) == .dictionary([PreferenceValue.Entry("a", .date(date))]))
    }
    let ends = [Date.distantPast, .distantFuture].map { XMLPropertyList.text(of: $0) }
    #expect(ends == ["0000-12-30T00:00:00Z", "4001-01-01T00:00:00Z"])
  }

  /// What Foundation drops, changes or decides differently is left to it.
  @Test(arguments: [
    "<integer>+1</integer>", "<integer> 1</integer>", "<integer>99999999999999999999</integer>", "<real> 1</real>",
    "<real>0x1p3</real>", "<date>2023-02-29T00:00:00Z</date>", "<date>2016-12-31T23:59:60Z</date>",
    "<date>2016-1-31T23:59:60Z</date>", "<string>a\rb</string>", "<string>\u{FEFF}</string>", "<string>&#65;</string>",
    "<string><![CDATA[a]]></string>", "<data>AQ=</data>", "<data/>", "<true></true>", "<!-- --><true/>", "<x/>",
    "<dict><key>CF$UID</key><integer>7</integer></dict>", "<date>2023-13-01T00:00:00Z</date>",
    "<dict><key>a</key><true/><key>a</key><false/></dict>", "<dict><key>a</key></dict>", "<string>a", "<array><true/>",
    "", "<string>\u{0}</string>",
  ])
  func otherFormsAreLeftToFoundation(_ element: String) throws {
    let head = "\(XMLPropertyList.declaration)\n\(XMLPropertyList.start)"
    #expect(try XMLPropertyListReader.value(of: Data("\(head)<true/></plist>".utf8)) == .boolean(true))
    #expect(try XMLPropertyListReader.value(of: Data("\(head)\(element)</plist>".utf8)) == nil)
    #expect(try XMLPropertyListReader.value(of: Data("\(head)<true/></plist>\(element)<".utf8)) == nil)
    #expect(try XMLPropertyListReader.value(of: Data([0xEF])) == nil)
  }

  @Test func namesOfKeysComeBack() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<5_000 {
      guard let key = try? KeyName(RandomPreference.text(&random)) else { continue }
      #expect(PreferenceName.key(of: PreferenceName(key).string) == key)
      #expect(PreferenceName.escapedKey(of: PreferenceName.escaped(key)) == key)
    }
    for name in ["", "%coffer:a", "%coffer:%zz", "%coffer:%e", "%coffer:%E9", String(repeating: "a", count: 2_000)] {
      #expect(PreferenceName.key(of: name) == nil, "\(name)")
    }
  }
}

extension PropertyListDocument {
  /// Compares descriptions, since NaN is not equal to itself.
  fileprivate func isSame(as other: PropertyListDocument) -> Bool {
    "\(values.sorted { $0.key < $1.key })" == "\(other.values.sorted { $0.key < $1.key })"
      && "\(others)" == "\(other.others)"
  }
}
