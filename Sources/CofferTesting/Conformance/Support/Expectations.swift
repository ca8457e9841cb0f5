import CofferCore
import Foundation

extension Bench {
  /// Throws unless the condition holds. The sentence must begin with "Expected" and also state what happened.
  func expect(
    _ condition: Bool, _ sentence: @autoclosure () -> String, file: String = #fileID, line: UInt = #line
  ) throws {
    guard condition else { throw Unmet(sentence: sentence(), file: file, line: line) }
  }

  /// Throws unless `actual` equals `expected`.
  func expect<T: Equatable>(
    _ what: String, _ actual: T, equals expected: T, file: String = #fileID, line: UInt = #line
  ) throws {
    guard actual == expected else {
      throw Unmet(
        sentence: "Expected \(what) to be \(shown(expected)); got \(shown(actual)).", file: file, line: line)
    }
  }

  /// Throws unless `body` throws a ``StorageError`` with the given code, which is returned.
  @discardableResult
  func expect<R>(
    _ code: StorageError.Code, from what: String, file: String = #fileID, line: UInt = #line,
    _ body: () async throws -> R
  ) async throws -> StorageError {
    let happened: String
    do {
      _ = try await body()
      happened = "it succeeded"
    } catch let error as StorageError {
      if error.code == code { return error }
      happened = "got code \(error.code) (\(error))"
    } catch let error as Unmet {
      throw error
    } catch {
      happened = "got \(error)"
    }
    throw Unmet(
      sentence: "Expected \(what) to be refused with StorageError code \(code); \(happened).", file: file, line: line)
  }

  /// Throws unless both `entry(_:)` and `entries(_:)` return the given value for the key.
  func expectValue(
    _ key: KeyName, _ value: Data?, _ when: String, in engine: (any StorageEngine)? = nil, file: String = #fileID,
    line: UInt = #line
  ) async throws {
    let engine = try engine ?? self.engine
    let single = try await engine.entry(key)
    try expect("the value of \(shown(key)) \(when)", single?.value, equals: value, file: file, line: line)
    if let single { try expect("the key of that entry", single.key, equals: key, file: file, line: line) }
    let several = try await engine.entries([key])
    try expect(
      "the result of entries(_:) for \(shown(key)) \(when)", several.map { $0?.value }, equals: [value], file: file,
      line: line)
  }

  /// Throws unless the store lists exactly these keys.
  func expectKeys(
    _ keys: [String], _ when: String, prefix: KeyName? = nil, file: String = #fileID, line: UInt = #line
  ) async throws {
    let expected = try keys.map { try KeyName($0) }.sorted()
    try expect("the keys \(when)", try await self.keys(prefix: prefix), equals: expected, file: file, line: line)
  }
}

/// Returns a short form of a value for a message, on one line. Keys are shown as bytes if they are not plain ASCII.
func shown(_ value: Any) -> String {
  switch value {
  case let data as Data:
    return data.count > 32 ? "\(data.count) bytes" : "\(data.count) bytes <\(data.hex)>"
  case let key as KeyName:
    let bytes = key.withBytes { Data($0) }
    if bytes.count > 48 { return "<a key of \(bytes.count) bytes>" }
    let isPlain = bytes.allSatisfy { (0x20...0x7E).contains($0) }
    return isPlain ? "'\(key.string)'" : "<\(bytes.hex)>"
  case let list as [Any]:
    let tail = list.count > 12 ? ", ... \(list.count) in all" : ""
    return "[" + list.prefix(12).map(shown).joined(separator: ", ") + tail + "]"
  default:
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { shown($0.value) } ?? "nil" }
    return String(describing: value)
  }
}

extension Data {
  fileprivate var hex: String {
    map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined(separator: " ")
  }
}
