import Coffer
import CofferTerminal
import Foundation

/// Returns the source: a directory, a database of which a table is named, a property list, lines of JSON, or the
/// location of a suite of preferences or of a service in the keyring.
func importSource(at path: String, _ invocation: Invocation) throws -> Import.Source {
  let encoding = invocation.options[.encoding].flatMap(Import.Encoding.init) ?? .bytes
  guard invocation.options[.encoding].map({ Import.Encoding(rawValue: $0) != nil }) ?? true else {
    let known = Import.Encoding.allCases.map(\.rawValue).joined(separator: ", ")
    throw Command.mistake("--encoding takes one of: \(known).", .importValues)
  }
  let columns = [Option.table, .keyColumn, .valueColumn].map { invocation.options[$0] }
  guard columns.allSatisfy({ $0 == nil }) || columns.allSatisfy({ $0 != nil }) else {
    throw Command.mistake("A database needs all of --table, --keys and --values.", .importValues)
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
  if isDirectory.boolValue { return .files(directory: path, encoding: encoding) }
  return startsWithBrace(path) ? .jsonLines(path: path) : .propertyList(path: path, encoding: encoding)
}

/// Whether a regular file begins as lines of JSON do, which neither form of a property list does.
private func startsWithBrace(_ path: String) -> Bool {
  guard (try? FileManager.default.attributesOfItem(atPath: path)[.type]) as? FileAttributeType == .typeRegular,
    let file = FileHandle(forReadingAtPath: path)
  else { return false }
  return (try? file.read(upToCount: 1)) == Data("{".utf8)
}

/// Returns the location if the text is one of those that are no path.
private func named(_ text: String) -> StoreLocation? {
  guard text.hasPrefix("prefs:") || text.hasPrefix("keychain:") else { return nil }
  return try? StoreLocation(parsing: text)
}
