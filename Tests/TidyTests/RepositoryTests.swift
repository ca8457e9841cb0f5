import CofferTestTraits
import Testing

/// A rule and the files it applies to.
struct Rule: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let applies: @Sendable (SourceFile) -> Bool
  let check: @Sendable (SourceFile) -> [Finding]

  init(
    _ name: String, for applies: @escaping @Sendable (SourceFile) -> Bool,
    _ check: @escaping @Sendable (SourceFile) -> [Finding]
  ) {
    testDescription = name
    self.applies = applies
    self.check = check
  }

  static let all = [
    Rule("files are short", for: ours, fileLength),
    Rule("functions are short", for: ours, functionLength),
    Rule("lines are short", for: { isSwift($0) || isScript($0) }, lineLength),
    Rule("no deliberate crashes", for: sources, crashes),
    Rule("no force unwraps", for: sources, forceUnwraps),
    Rule("libraries do not print", for: libraries, prints),
    Rule("exceptions to the checks are explained", for: ours, unexplainedExceptions),
    Rule("locks are not inlined", for: ours, inlinableLocks),
    Rule("no collections keyed by String", for: sources, { stringKeys($0) }),
    Rule("imports point down", for: sources, imports),
    Rule("Watchify uses public names", for: ours, borrowedNames),
    Rule("platform differences stay below the front", for: sources, platformConditions),
    Rule("no unfinished work", for: isText, unfinished),
    Rule("no machine-specific paths", for: isText, machinePaths),
    Rule("no trailing whitespace", for: isText, trailingWhitespace),
    Rule("links resolve", for: isMarkdown, { brokenLinks($0, paths: Repository.this.paths) }),
    Rule(
      "named tasks exist", for: { isMarkdown($0) || isScript($0) },
      { unknownTasks($0, tasks: Repository.this.file("run").map(tasks) ?? []) }),
    Rule(
      "programs of tests are installed", for: startsPrograms,
      { unknownPrograms($0, tables: Repository.this.file("run").map(packageTables) ?? []) }),
    Rule("tests do not sleep", for: { $0.isIn("Tests") && isSwift($0) }, sleeps),
    Rule("programs of tests start alone", for: { $0.path.contains("Test") && isSwift($0) }, unguardedStarts),
    Rule(
      "requirements have tests", for: { $0.path == "docs/requirements.md" },
      { unshownRequirements($0, files: Repository.this.files) }),
  ]
}

@Suite("The repository is tidy", .blocking)
struct RepositoryTests {
  @Test(arguments: Rule.all)
  func follows(_ rule: Rule) {
    let files = Repository.this.files.filter(rule.applies)
    #expect(!files.isEmpty, "The rule applies to no file.")
    for finding in files.flatMap(rule.check) {
      Issue.record("\(finding)")
    }
  }

  @Test("Every document is linked")
  func documentsAreLinked() {
    #expect(unlinkedDocuments(Repository.this.files, paths: Repository.this.paths) == [])
  }

  @Test("Every exception for String keys is still needed", arguments: stringKeyExceptions)
  func exceptionIsNeeded(_ exception: StringKeyException) throws {
    let file = try #require(Repository.this.file(exception.path))
    #expect(file.code.contains { $0.contains(exception.text) })
    #expect(!exception.reason.isEmpty)
  }

  @Test("The manifest is shorter than 150 lines, depends on no package and looks at no file")
  func manifestIsSimple() throws {
    let lines = try #require(Repository.this.file("Package.swift")).lines
    #expect((50..<151).contains(lines.count))  // the last line end makes one more
    #expect(!lines.contains { $0.hasAny(of: [".package(", "import Foundation", "/proc"]) })
  }

  @Test("Every product has a program that uses nothing else")
  func productsAreUsedAlone() throws {
    func products(_ path: String) throws -> Set<String> {
      let text = try #require(Repository.this.file(path)).lines.joined(separator: "\n")
      let list = try #require(text.firstMatch(of: /let products = \[([^\]]+)\]/)).1
      return Set(list.matches(of: /"(\w+)"/).map { String($0.1) })
    }
    #expect(try products("Package.swift") == products("Examples/Products/Package.swift"))
  }

  @Test("Every target has a floor")
  func targetsHaveFloors() {
    #expect(Set(Repository.this.files.compactMap(\.target)).subtracting(floors.keys) == [])
    #expect(Set(floors.keys).subtracting(Repository.this.files.compactMap(\.target)) == [])
  }

  @Test("The architecture lists the floors of the manifest")
  func floorsAreListed() throws {
    let listed = listedFloors(try #require(Repository.this.file("ARCHITECTURE.md")))
    for target in Set(listed.keys).union(floors.keys).sorted() {
      #expect(listed[target] == floors[target], "ARCHITECTURE.md and Package.swift differ on the floor of \(target)")
    }
  }

  @Test("Every target imports its declared dependencies")
  func dependenciesAreUsed() {
    #expect(manifests.flatMap { manifestTargets($0.lines.joined(separator: "\n")) }.count > 30)
    #expect(unusedDependencies(manifests, of: Repository.this.files) == [])
  }

  @Test("Every public type was decided on: docs/public-names.txt lists them")
  func publicNamesAreListed() throws {
    let list = try #require(Repository.this.file("docs/public-names.txt"))
    let (listed, found) = (Set(list.lines.filter { !$0.isEmpty }), publicTypes(of: Repository.this.files))
    #expect(found.subtracting(listed).sorted() == [], "not listed")
    #expect(listed.subtracting(found).sorted() == [], "listed, but not there")
  }

  @Test("`import Coffer` brings at most 60 types")
  func theFrontIsSmall() {
    let names = typesOfTheFront(Repository.this.files)
    #expect((30...60).contains(names.count), "\(names.count): \(names.sorted())")
  }

  @Test("The script has the tasks that CI calls")
  func continuousIntegrationHasItsTasks() throws {
    let run = try #require(Repository.this.file("run"))
    #expect(tasks(of: run).isSuperset(of: ["demo", "test", "bench", "prove", "docs", "lint", "format", "clean"]))
  }
}

@Sendable private func isSwift(_ file: SourceFile) -> Bool { file.path.hasSuffix(".swift") }
@Sendable private func isMarkdown(_ file: SourceFile) -> Bool { file.path.hasSuffix(".md") }
@Sendable private func isScript(_ file: SourceFile) -> Bool {
  file.path == "run" || file.path.hasSuffix("/run") || file.path.hasSuffix(".sh")
}
@Sendable private func ours(_ file: SourceFile) -> Bool { file.isIn("Sources", "Tests") && isSwift(file) }
@Sendable private func sources(_ file: SourceFile) -> Bool { file.isIn("Sources") && isSwift(file) }
@Sendable private func libraries(_ file: SourceFile) -> Bool {
  sources(file) && file.target.flatMap { floors[$0] } ?? 0 < floors["CofferCommand"] ?? 0
}
/// Code whose programs the tests start.
@Sendable private func startsPrograms(_ file: SourceFile) -> Bool {
  isSwift(file) && !file.path.hasPrefix("Tests/TidyTests/")
    && (file.isIn("Tests") || file.path.hasPrefix("Sources/CofferTesting/Processes/"))
}
@Sendable private func isText(_ file: SourceFile) -> Bool {
  let endings = ["swift", "md", "sh", "h", "c", "json", "yml", "modulemap", "txt", "html", "css", "js"]
  return isScript(file) || endings.contains { file.path.hasSuffix("." + $0) } || file.path.hasPrefix(".")
}
