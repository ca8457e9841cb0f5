import Foundation

/// An error in the command line, which ends the program with exit code 2.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// An unexpected condition that ends an act.
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

    Demonstrates Coffer with real data, a second process, kills, an editor, damage
    and a thief: in a database, in plain files, and encrypted. It takes a few
    seconds and leaves no files behind.

      --data DIR     product feeds to store: JSON files with a list "products"
                     (default: ../shared/data/shopify if it exists)
      --generate N   generate N products instead, 20 to 100000 (default: 3000 if
                     there are no feeds)
      --keep DIR     create both stores in this folder and keep them
      --json         print only a JSON summary
      --help         show this help

    exit code: 0 all checks passed, 1 a check failed, 2 the options are wrong
    Colours appear on a terminal only; set NO_COLOR to disable them.
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

  /// Returns the products to store: captured feeds if available, else generated products.
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
