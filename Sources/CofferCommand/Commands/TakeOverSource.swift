import Coffer
import CofferTerminal
import Foundation

/// Returns the source: a directory, a database of which a table is named, a property list, or the location of a suite
/// of preferences or of a service in the keyring.
func legacySource(at path: String, _ invocation: Invocation) throws -> LegacySource {
  let encoding = invocation.options[.encoding].flatMap(LegacyEncoding.init) ?? .bytes
  guard invocation.options[.encoding].map({ LegacyEncoding(rawValue: $0) != nil }) ?? true else {
    let known = LegacyEncoding.allCases.map(\.rawValue).joined(separator: ", ")
    throw UsageError("--encoding takes one of: \(known).", .takeOverValues)
  }
  let columns = [Option.table, .keyColumn, .valueColumn].map { invocation.options[$0] }
  guard columns.allSatisfy({ $0 == nil }) || columns.allSatisfy({ $0 != nil }) else {
    throw UsageError("A database needs all of --table, --keys and --values.", .takeOverValues)
  }
  if let table = columns[0], let key = columns[1], let value = columns[2] {
    return .table(path: path, table: table, keyColumn: key, valueColumn: value, encoding: encoding)
  }
  switch named(path) {
  case .preferences(let suite): return try .userDefaults(suite: suite, encoding: encoding)
  case .keychain(let service, let group): return .keychain(service: service, accessGroup: group, encoding: encoding)
  default: break
  }
  var isDirectory: ObjCBool = false
  guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
    throw CommandError(
      .notFound, StorageError.Code.notFound.description, "There is no file or directory '\(path.oneLine())'.",
      advice: "Check the path of SOURCE, or write prefs:SUITE or keychain:SERVICE; nothing was changed.")
  }
  return isDirectory.boolValue
    ? .files(directory: path, encoding: encoding) : .propertyList(path: path, encoding: encoding)
}

/// Returns the location if the text is one of those that are no path.
private func named(_ text: String) -> StoreLocation? {
  guard text.hasPrefix("prefs:") || text.hasPrefix("keychain:") else { return nil }
  return try? StoreLocation(parsing: text)
}
