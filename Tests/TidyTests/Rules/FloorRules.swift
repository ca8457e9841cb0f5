import Foundation

/// The manifests of the packages that assign floors to targets.
let manifests = ([""] + packages.map { $0 + "/" }).compactMap { Repository.this.file($0 + "Package.swift") }

/// The floor of each target according to the manifests. A target imports only from floors below its own.
let floors = manifests.map(listedTargets).reduce(into: [:]) { all, some in all.merge(some) { first, _ in first } }

/// Returns the floor of each target in a manifest, which has a comment `// Floor N` before the targets of a floor.
func listedTargets(_ manifest: SourceFile) -> [String: Int] {
  var found: [String: Int] = [:]
  let text = manifest.lines.joined(separator: "\n")
  for part in text.components(separatedBy: "    // Floor ").dropFirst() {
    guard let floor = Int(part.prefix { $0.isNumber }) else { continue }
    let targets = part.components(separatedBy: "    // Tests")[0]
    for match in targets.matches(of: /(?:floor|tool|systemLibrary|macro)\(\s*(?:name: )?"(\w+)"/) {
      found[String(match.output.1)] = floor
    }
  }
  return found
}

/// Returns the floor of each target in a document's table, whose rows begin with a floor and its targets.
func listedFloors(_ document: SourceFile) -> [String: Int] {
  var found: [String: Int] = [:]
  for line in document.lines {
    guard let row = line.firstMatch(of: /^\| (\d+) \| ([^|]+) \|/), let floor = Int(row.output.1) else { continue }
    for target in row.output.2.matches(of: /`(\w+)`/) { found[String(target.output.1)] = floor }
  }
  return found
}

/// Finds imports of targets that are not on a lower floor.
func imports(_ file: SourceFile) -> [Finding] {
  guard let target = file.target, file.path.hasSuffix(".swift") else { return [] }
  guard let floor = floors[target] else {
    return [file.finding(0, "'\(target)' has no floor: give it one in its package's manifest")]
  }
  return file.code(with: "import").compactMap { index in
    guard let module = importedModule(file.code[index]), module != target else { return nil }
    guard let other = floors[module] else {
      guard module.hasPrefix("Coffer") else { return nil }
      return file.finding(index, "'\(module)' has no floor: give it one in its package's manifest")
    }
    guard other >= floor else { return nil }
    return file.finding(index, "'\(target)' (floor \(floor)) imports '\(module)' (floor \(other)): imports point down")
  }
}

/// Finds imports by the application of declarations that are not public, such as those for a package's tests.
func borrowedNames(_ file: SourceFile) -> [Finding] {
  guard file.path.hasPrefix("Watchify/") else { return [] }
  return file.findings("an application uses Coffer's public names only", with: "import") {
    $0.contains(/^\s*@(?:testable|_spi\(\w+\))\s+(?:\w+\s+)*import\s+Coffer/)
  }
}

/// Returns the module that a line imports.
func importedModule(_ line: String) -> String? {
  let kinds = /^\s*(?:[@\w()]+\s+)*import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(\w+)/
  return line.firstMatch(of: kinds).map { String($0.output.1) }
}

/// Finds conditional compilation by platform in the front and above it; tests start programs, which few platforms can.
func platformConditions(_ file: SourceFile) -> [Finding] {
  guard let target = file.target, target != "CofferTesting", let front = floors["Coffer"], let floor = floors[target],
    floor >= front
  else { return [] }
  let message = "'#if os' on floor \(floor): put the difference behind a protocol on a lower floor"
  return file.findings(message, with: "os(") {
    $0.contains(/^\s*#(?:if|elseif)\b.*\bos\(/)
  }
}
