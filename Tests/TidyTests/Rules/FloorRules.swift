/// The floors of the house: a target imports only from floors below its own.
let floors = [
  "CofferCShims": 0, "CofferCZlib": 0, "CofferCSQLite": 0, "CofferCOpenSSL": 0,
  "CofferCSecret": 0, "CofferLocks": 0, "CofferCGio": 0, "CofferCMicrohttpd": 0, "CofferCCurl": 0,
  "CofferCore": 1,
  "CofferCrypto": 2, "CofferFileSystem": 2, "CofferTerminal": 2,
  "CofferSQLite": 3,
  "CofferFiles": 4, "CofferPreferences": 4, "CofferKeychain": 4,
  "Coffer": 5,
  "CofferTesting": 6, "WatchifyKit": 6, "ReplayShop": 6,
  "CofferCommand": 7, "CofferDemo": 7, "ReplayShopServer": 7, "Watchify": 7,
]

/// Imports point downstairs.
func imports(_ file: SourceFile) -> [Finding] {
  guard let target = file.target, file.path.hasSuffix(".swift") else { return [] }
  guard let floor = floors[target] else {
    return [file.finding(0, "'\(target)' has no floor: give it one in FloorRules.swift")]
  }
  return file.code.indices.compactMap { index in
    guard let module = importedModule(file.code[index]), module != target else { return nil }
    guard let other = floors[module] else {
      guard module.hasPrefix("Coffer") else { return nil }
      return file.finding(index, "'\(module)' has no floor: give it one in FloorRules.swift")
    }
    guard other >= floor else { return nil }
    return file.finding(index, "'\(target)' (floor \(floor)) imports '\(module)' (floor \(other)): imports point down")
  }
}

/// The module that a line imports.
func importedModule(_ line: String) -> String? {
  let kinds = /^\s*(?:[@\w()]+\s+)*import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(\w+)/
  return line.firstMatch(of: kinds).map { String($0.output.1) }
}

/// Differences between systems end below the front.
func platformConditions(_ file: SourceFile) -> [Finding] {
  guard let target = file.target, let floor = floors[target], floor >= 5 else { return [] }
  return file.findings("'#if os' on floor \(floor): put the difference behind a protocol on a lower floor") {
    $0.contains(/^\s*#(?:if|elseif)\b.*\bos\(/)
  }
}
