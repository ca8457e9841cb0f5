import CofferFiles
import Foundation

/// Random preference values, reproducible from a seed.
enum RandomPreference {
  static let nasty = [
    "", "\0", "a\0b", "\u{1}\u{1F}\u{7F}\u{9F}", "\u{FEFF}mark", "a\rb\r\nc\n", "👩‍👩‍👧‍👦🇩🇪", "e\u{301}", "\u{E9}", "\u{212B}",
    "]]>", "<&>\"'", "%coffer:a", "%coffer:%00", " leading and trailing ", "\u{FFFE}\u{FFFF}", "\u{10FFFF}", "\u{2028}",
    "\u{202E}right", "ﷺ", "$null", "true", "1",
  ]

  static func text(_ random: inout some RandomNumberGenerator) -> String {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return nasty.randomElement(using: &random) ?? ""
    case 1: return "key\(Int.random(in: 0..<1_000, using: &random))"
    default:
      var text = ""
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        let limit: UInt32 = [0x80, 0x800, 0x3000, 0x110000].randomElement(using: &random) ?? 0x80
        if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) {
          text.unicodeScalars.append(scalar)
        }
      }
      return text
    }
  }

  static func value(_ random: inout some RandomNumberGenerator, depth: Int = 3) -> PreferenceValue {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 7), using: &random) {
    case 0: .string(text(&random))
    case 1:
      .integer([.min, .max, 0, 1, -1, .random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0)
    case 2: .unsigned(.random(in: UInt64(Int64.max) + 1 ... .max, using: &random))
    case 3: .real(number(&random))
    case 4: .boolean(.random(using: &random))
    case 5: .date(Date(timeIntervalSinceReferenceDate: number(&random)))
    case 6:
      .data(Data((0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }))
    case 7: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(&random, depth: depth - 1) })
    default: dictionary(&random, depth)
    }
  }

  private static func number(_ random: inout some RandomNumberGenerator) -> Double {
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      [0, 1, -1, 0.1, 1e22, 1e300, .leastNonzeroMagnitude, .infinity, -.infinity, 63e9].randomElement(using: &random)
        ?? 0
    case 1: Double(Int.random(in: -1_000_000_000...1_000_000_000, using: &random))
    default: .random(in: -1e10...1e10, using: &random)
    }
  }

  private static func dictionary(_ random: inout some RandomNumberGenerator, _ depth: Int) -> PreferenceValue {
    var entries: [PreferenceValue.Entry] = []
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let name = text(&random)
      guard !entries.contains(where: { $0.name == name }) else { continue }
      entries.append(PreferenceValue.Entry(name, value(&random, depth: depth - 1)))
    }
    return .dictionary(entries.sorted { $0.name < $1.name })
  }
}

/// Malicious files.
enum Hostile {
  /// Returns a binary property list of arrays each of which refers to the next one twice. Its root is a dictionary with
  /// the first array.
  static func sharedArrays(depth: Int) -> Data {
    var objects: [[UInt8]] = [[0xD1, 1, 2], [0x51, 0x61]]  // {a: #2}
    for index in 0..<depth { objects.append([0xA2, UInt8(index + 3), UInt8(index + 3)]) }
    return file(objects + [[0x09]])
  }

  /// Returns a binary property list of chains of arrays, each of which ends in the chain before it. Its root is a
  /// dictionary with an array of all chains.
  static func chains(_ count: Int, length: Int) -> Data {
    func bytes(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
    let starts = (0..<count).map { 3 + $0 * length }
    let list: [UInt8] = count < 15 ? [0xA0 | UInt8(count)] : [0xAF, 0x10, UInt8(count)]
    var objects: [[UInt8]] = [[0xD1] + bytes(1) + bytes(2), [0x51, 0x61], list + starts.flatMap { bytes($0) }]
    for chain in 0..<count {
      for index in 0..<length {
        let last: [UInt8] = chain == 0 ? [0xA0] : [0xA1] + bytes(starts[chain - 1])
        objects.append(index == length - 1 ? last : [0xA1] + bytes(starts[chain] + index + 1))
      }
    }
    return file(objects, referenceSize: 2)
  }

  /// Returns a binary property list of encoded objects, the first of which is its root.
  static func file(_ objects: [[UInt8]], referenceSize: UInt8 = 1) -> Data {
    var file = Data("bplist00".utf8)
    var offsets = Data()
    for object in objects {
      withUnsafeBytes(of: UInt32(file.count).bigEndian) { offsets += $0 }
      file += object
    }
    let table = UInt64(file.count)
    file += offsets
    file += [0, 0, 0, 0, 0, 0, 4, referenceSize]
    for number in [UInt64(objects.count), 0, table] { withUnsafeBytes(of: number.bigEndian) { file += $0 } }
    return file
  }
}
