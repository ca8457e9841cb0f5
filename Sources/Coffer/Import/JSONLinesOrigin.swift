import CofferCore
import Foundation

/// The lines of a file, each with the key and the value of an entry as JSON.
struct JSONLinesOrigin: ImportOrigin {
  private(set) var names: [String] = []
  private(set) var ignored: [Import.Report.Entry] = []
  private var lines: [KeyName: Substring.UTF8View] = [:]
  private var repeated: Set<KeyName> = []

  private struct Line: Decodable { let key: String }

  private struct Value: Decodable {
    let text: String?
    let base64: Data?
  }

  init(_ path: String) throws {
    guard let text = String(validating: try importedFile(path), as: UTF8.self) else {
      throw StorageError(
        .decodingFailed, "The file is not text in UTF-8.", advice: "Check the path. Nothing was changed.",
        location: path)
    }
    var number = 0
    for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard !line.allSatisfy({ [9, 13, 32].contains($0) }) else { continue }
      guard let found = try? JSONDecoder().decode(Line.self, from: Data(line)), let key = try? KeyName(found.key) else {
        ignored.append(.init(name: "line \(number)", outcome: .unreadable(reason: "it is no object with a key")))
        continue
      }
      if lines.updateValue(line, forKey: key) == nil { names.append(found.key) } else { repeated.insert(key) }
    }
  }

  func read(_ name: String) throws -> ImportedOriginal? {
    let key = try KeyName(name)
    guard let line = lines[key] else { return nil }
    guard !repeated.contains(key) else { throw ImportFailure(reason: "several lines have its key") }
    guard let value = try? JSONDecoder().decode(Value.self, from: Data(line)) else {
      throw ImportFailure(reason: "its line has a text or base64 that is none")
    }
    // `coffer get` prints both for a value that is text.
    guard let data = value.base64 ?? value.text.map({ Data($0.utf8) }) else {
      throw ImportFailure(reason: "its line has neither text nor base64")
    }
    return ImportedOriginal(name: name, data: data, isDecoded: true)
  }
}
