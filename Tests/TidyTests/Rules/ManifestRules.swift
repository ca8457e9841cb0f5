/// Returns the declared dependencies that a target never imports, as `Target: dependency`.
///
/// Executables are exempt, since they are dependencies only so that they are built: tests run them.
/// - Parameters:
///   - manifests: The manifests of all packages, since one may use targets of another.
///   - files: The source files of all targets.
func unusedDependencies(_ manifests: [SourceFile], of files: [SourceFile]) -> [String] {
  let text = manifests.flatMap(\.lines).joined(separator: "\n")
  let targets = manifestTargets(text)
  let executables = Set(targets.filter { $0.kind == "tool" }.map(\.name))
  let known = Set(targets.map(\.name)).union(text.matches(of: /systemLibrary\(name: "(\w+)"/).map { String($0.1) })
  return targets.flatMap { target in
    let own = files.filter { $0.isIn("Sources/\(target.name)", "Tests/\(target.name)") && $0.path.hasSuffix(".swift") }
    let named = Set(own.flatMap { file in file.code(with: "import").compactMap { importedModule(file.code[$0]) } })
    let imported = named.union(named.flatMap { includedModules("Sources/\($0)/shim.h", files) })
    return target.dependencies.filter { known.contains($0) && !executables.contains($0) && !imported.contains($0) }
      .map { "\(target.name): \($0)" }
  }
}

/// Returns the modules whose headers a header includes.
private func includedModules(_ path: String, _ files: [SourceFile]) -> [String] {
  let header = files.first { $0.path == path }
  return header?.lines.compactMap { $0.firstMatch(of: /#include "\.\.\/(\w+)\/shim\.h"/).map { String($0.1) } } ?? []
}

/// Returns the targets of a manifest, declared with `floor`, `tool`, `tests` or `.target`, and their dependencies.
func manifestTargets(_ manifest: String) -> [(kind: String, name: String, dependencies: [String])] {
  // Of a shared list and others, the others.
  let start =
    /\b(floor|tool|tests|target|testTarget|documentTests)\(\s*(?:name: )?"(\w+)",\s*(?:dependencies: )?(?:\w+ \+ )?\[/
  return manifest.matches(of: start).map { match in
    var depth = 1
    let list = manifest[match.range.upperBound...].prefix { character in
      if character == "[" { depth += 1 } else if character == "]" { depth -= 1 }
      return depth > 0
    }
    return (String(match.1), String(match.2), list.matches(of: /"(\w+)"/).map { String($0.1) })
  }
}
