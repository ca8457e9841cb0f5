import Foundation

/// What the caller got wrong: exit code 2.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// What the demonstration found wrong.
struct DemoError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

struct Options {
  var data: String?
  var generate: Int?
  var isJSON = false
  var keep: String?
  var wantsHelp = false

  static let help = """
    usage: coffer-demo [OPTIONS]

    Shows what Coffer does with real data, a second process, kills, an editor and
    damage: first in a database, then in plain files. It takes some seconds and
    leaves nothing behind.

      --data DIR     product feeds to store: JSON files with a list "products"
                     (otherwise ../shared/data/shopify if it is there)
      --generate N   make up N products instead, 20 to 100000 (otherwise 3000 when
                     there are no feeds)
      --keep DIR     make both stores in this folder and keep them
      --json         print one JSON summary and nothing else
      --help         show this

    exit code: 0 all checks passed, 1 a check failed, 2 the options are wrong
    Colours are for terminals only; set NO_COLOR to have none there either.
    """

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      switch option {
      case "--data": data = try Self.value(of: option, &rest)
      case "--keep": keep = try Self.value(of: option, &rest)
      case "--generate":
        let text = try Self.value(of: option, &rest)
        guard let number = Int(text), (20...100_000).contains(number) else {
          throw UsageError("--generate needs a number from 20 to 100000, not '\(text)'.")
        }
        generate = number
      case "--json": isJSON = true
      case "--help", "-h": wantsHelp = true
      case _ where !option.hasPrefix("-"): throw UsageError("coffer-demo takes no argument '\(option)'.")
      default: throw UsageError("There is no option '\(option)'.")
      }
    }
    if data != nil, generate != nil { throw UsageError("--data and --generate exclude each other.") }
  }

  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
    guard let value = rest.popFirst(), !value.isEmpty, !value.hasPrefix("--") else {
      throw UsageError("\(option) needs a value.")
    }
    return value
  }

  /// Captured feeds where they are known to lie beside the package, else made up products.
  func catalogue() throws -> Catalogue {
    if let generate { return try Generator.catalogue(count: generate) }
    let usual = "../shared/data/shopify"
    guard let folder = data ?? (Self.isFolder(usual) ? usual : nil) else {
      return try Generator.catalogue(count: 3_000)
    }
    guard Self.isFolder(folder) else { throw UsageError("There is no folder '\(folder)'.") }
    return try Catalogue.captured(in: folder)
  }

  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }
}
