import Foundation

/// The encoded entries of an XML property list, in the order of the file: a save encodes the entry that it changes, and
/// copies the others.
struct XMLPropertyListLines: Sendable {
  private struct Line {
    let name: String
    let bytes: [UInt8]
  }

  private var lines: [Line]

  /// Encodes entries, which are sorted by name.
  init(_ entries: [PreferenceValue.Entry]) {
    lines = entries.map { Line(name: $0.name, bytes: XMLPropertyListWriter.line($0.name, $0.value)) }
  }

  /// Replaces, adds or removes an entry.
  /// - Returns: `false` if XML would lose information of the value; the lines are then unusable.
  mutating func set(_ name: String, to value: PreferenceValue?) -> Bool {
    var (index, end) = (0, lines.count)
    while index < end {
      let middle = (index + end) / 2
      if lines[middle].name < name { index = middle + 1 } else { end = middle }
    }
    let isThere = index < lines.count && lines[index].name == name
    guard let value else {
      if isThere { lines.remove(at: index) }
      return true
    }
    guard PreferenceValue.Entry(name, value).fitsIntoXML else { return false }
    let line = Line(name: name, bytes: XMLPropertyListWriter.line(name, value))
    if isThere { lines[index] = line } else { lines.insert(line, at: index) }
    return true
  }

  /// The file; `nil` if its only entry is one that Foundation would not take for an entry.
  var file: Data? { lines.count == 1 && lines[0].name == XMLPropertyList.reservedName ? nil : data }

  /// The file, whatever Foundation takes it for.
  var data: Data {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines.reduce(Self.head.count + 32) { $0 + $1.bytes.count })
    bytes += Self.head
    if lines.isEmpty {
      bytes += "<dict/>\n".utf8
    } else {
      bytes += "<dict>\n".utf8
      for line in lines { bytes += line.bytes }
      bytes += "</dict>\n".utf8
    }
    bytes += "\(XMLPropertyList.end)\n".utf8
    return Data(bytes)
  }

  private static let head = Array(
    "\(XMLPropertyList.declaration)\n\(XMLPropertyList.documentType)\n\(XMLPropertyList.start)\n".utf8)
}
