package import CofferCore
import CofferFileSystem
import Foundation

/// Recognizes values of other storage libraries in a suite that Coffer has never opened.
///
/// Values of the property list types are normal preferences, whoever wrote them. Foreign are bytes that wrap the value:
/// a JSON object with a transaction id under any name, and JSON or base64 bytes under the prefix `axiom.`, which no
/// typed read would return as what was stored.
package enum ForeignPreferences {
  private static let prefix = "axiom."

  /// Describes the foreign values in a suite; `nil` if there are none, and for a suite that Coffer has opened before.
  /// - Parameters:
  ///   - path: the path of the property list. A list that is missing, damaged or cannot be read is left to opening.
  ///   - control: the control directory of the suite.
  /// - Throws: `StorageError` if it cannot be determined whether Coffer has opened the suite.
  package static func recognize(at path: String, control: String, location: String) throws -> ForeignData? {
    guard try !PathParts.exists(control), let document = document(at: path, location: location) else { return nil }
    var encodings: [ForeignData.Encoding: Int] = [:]
    var names: [String] = []
    for (key, value) in document.values {
      guard case .data(let bytes) = value, let encoding = encoding(of: bytes, under: key) else { continue }
      encodings[encoding, default: 0] += 1
      names.append(key.string)
    }
    // Another process may have created the suite, and written such bytes itself, meanwhile.
    guard try !names.isEmpty && !PathParts.exists(control) else { return nil }
    return ForeignData(.preferences, at: location, names: names, encodings: encodings)
  }

  private static func document(at path: String, location: String) -> PropertyListDocument? {
    do {
      let parts = PathParts(try PathParts.resolvingLink(path))
      let file = try Directory(parts.parent, location: location).read(parts.last, limit: 16 << 20)
      return try file.map { try PropertyListFormat().decode($0.data) }
    } catch {
      return nil  // Opening reports it.
    }
  }

  private static func encoding(of bytes: Data, under key: KeyName) -> ForeignData.Encoding? {
    let encoding = ForeignData.Encoding(recognizing: bytes)
    switch encoding {
    case .storedObject: return encoding
    case .jsonText, .base64: return key.string.hasPrefix(prefix) ? encoding : nil
    case .propertyList, .database, .plain: return nil
    }
  }
}

extension PreferenceSuite {
  /// Throws `foreignFormat` if the suite holds values of another library that the policy does not ignore.
  func refuseForeign(unless policy: ForeignData.Policy) throws {
    guard policy != .ignore,
      let found = try ForeignPreferences.recognize(at: path, control: control, location: description)
    else { return }
    throw StorageError.foreign(found)
  }
}
