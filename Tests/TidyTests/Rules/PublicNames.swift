/// Returns the public types at the top level of the library's modules, as `Module.Type`. A type of a file that is
/// compiled on some platforms only is indented.
func publicTypes(of files: [SourceFile]) -> Set<String> {
  let type = /^(?:@\w+(?:\([^)]*\))?\s+)*public\s+(?:final\s+|indirect\s+)*(\w+)\s+(\w+)/
  let kinds = ["struct", "class", "enum", "protocol", "actor", "typealias"]
  var names: Set<String> = []
  for file in files where file.path.hasPrefix("Sources/Coffer") && file.path.hasSuffix(".swift") {
    guard let target = file.target else { continue }
    let isConditional = file.code.first { $0.contains { $0 != " " } }?.hasPrefix("#if") == true
    for index in file.code(with: "public") {
      let line =
        isConditional && file.code[index].hasPrefix("  ") ? file.code[index].dropFirst(2) : file.code[index][...]
      guard let found = line.firstMatch(of: type)?.output, kinds.contains(String(found.1)) else { continue }
      names.insert("\(target).\(found.2)")
    }
  }
  return names
}

/// Returns the types that `import Coffer` brings: its own, and those that it exports by name.
func typesOfTheFront(_ files: [SourceFile]) -> Set<String> {
  let exports = files.first { $0.path == "Sources/Coffer/Exports.swift" }
  let exported = exports?.code.compactMap { $0.firstMatch(of: /@_exported public import \w+ (\w+\.\w+)/)?.output.1 }
  return publicTypes(of: files).filter { $0.hasPrefix("Coffer.") }.union((exported ?? []).map(String.init))
}
