import Testing

private func swift(_ text: String, at path: String = "Sources/CofferCore/Sample.swift") -> SourceFile {
  SourceFile(path: path, text: text)
}

private func lines(_ count: Int) -> String { String(repeating: "  x += 1\n", count: count) }

@Suite("Size rules")
struct SizeRuleTests {
  @Test func aFileOf401LinesIsTooLong() {
    #expect(fileLength(swift(lines(400))) == [])
    #expect(fileLength(swift(lines(401))).count == 1)
  }

  @Test func aLineOf121ColumnsIsTooLong() {
    #expect(lineLength(swift(String(repeating: "é", count: 120))) == [])
    #expect(lineLength(swift("\n" + String(repeating: "é", count: 121))).map(\.line) == [2])
  }

  @Test(arguments: [
    "func f() {\n", "  @MainActor public func f<T>(_ x: T) async throws -> [T]\n  where T: Sendable {\n",
    "  init(\n    a: Int = { 1 }()\n  ) {\n", "  subscript(_ i: Int) -> Int {\n", "  deinit {\n",
  ])
  func aFunctionOf71LinesIsTooLong(_ head: String) {
    let height = head.filter { $0 == "\n" }.count
    #expect(functionLength(swift("\n" + head + lines(69 - height) + "}\n")) == [])
    #expect(functionLength(swift("\n" + head + lines(70 - height) + "}\n")).map(\.line) == [2])
  }

  @Test func bracesInTextDoNotCount() {
    let sample = "func f() {\n  let a = \"{\"  // {\n" + lines(10) + "}\n" + lines(70) + "}\n"
    #expect(functions(in: swift(sample).code).map(\.count) == [13])
  }

  @Test func aRequirementHasNoBody() {
    let sample = "protocol P {\n  func f()\n  func g() -> Int\n}\nstruct S {\n" + lines(80) + "}\n"
    #expect(functions(in: swift(sample).code) == [])
  }

  @Test func aLongTypeIsNoLongFunction() {
    #expect(functionLength(swift("struct S {\n  func f() { g() }\n" + lines(80) + "}\n")) == [])
  }
}

@Suite("Safety rules")
struct SafetyRuleTests {
  @Test(arguments: ["fatalError(\"no\")", "let a = try! f()", "let b = c as! D"])
  func crashesAreFound(_ line: String) {
    #expect(crashes(swift(line)).count == 1)
  }

  @Test(arguments: ["// fatalError()", "let a = \"try! again\"", "let b = c as? D", "try f()", "preconditionFailure()"])
  func theseAreNoCrashes(_ line: String) {
    #expect(crashes(swift(line)) == [])
  }

  @Test(arguments: ["a!", "f()!.b", "c[0]! + 1", "var d: String!", "\"\\(e!)\"", "g?.h!", "{ 1 }()!"])
  func forceUnwrapsAreFound(_ line: String) {
    #expect(forceUnwraps(swift(line)).count == 1)
  }

  @Test(arguments: ["a != b", "!a", "(!a)", "#if !os(Linux)", "\"Stop!\"", "try! f()", "a as! B", "// no!", "a !== b"])
  func theseAreNoForceUnwraps(_ line: String) {
    #expect(forceUnwraps(swift(line)) == [])
  }

  @Test(arguments: ["print(a)", "  Swift.print(a)", "{ debugPrint(a) }"])
  func printsAreFound(_ line: String) {
    #expect(prints(swift(line)).count == 1)
  }

  @Test(arguments: ["fingerprint(a)", "// print(a)", "page.print(a)", "func print(_ a: Int)"])
  func theseAreNoPrints(_ line: String) {
    #expect(prints(swift(line)) == [])
  }

  @Test func inlinableLocksAreFound() {
    #expect(inlinableLocks(swift("private let a = Mutex<Int>(0)")).count == 1)
    #expect(inlinableLocks(swift("let a = Locked(0)  // not Mutex(0)")) == [])
  }

  @Test(arguments: [
    "final class A: @unchecked Sendable {", "nonisolated(unsafe) var a = 1", "@preconcurrency import B",
  ])
  func exceptionsNeedAReason(_ line: String) {
    #expect(unexplainedExceptions(swift("import C\n" + line)).map(\.line) == [2])
    #expect(unexplainedExceptions(swift("// The queue guards it.\n" + line)) == [])
    #expect(unexplainedExceptions(swift("// The queue guards it.\n@frozen\n" + line)) == [])
    #expect(unexplainedExceptions(swift("import C\n" + line + "  // The queue guards it.")) == [])
  }

  @Test(arguments: ["var a: [String: Int]", "var b: [ String : Int]", "Dictionary<String, Int>()", "Set<String>()"])
  func stringKeysAreFound(_ line: String) {
    let file = swift(line)
    #expect(stringKeys(file).count == 1)
    #expect(stringKeys(file, except: [.init(path: file.path, text: line, reason: "printed so")]) == [])
    #expect(stringKeys(file, except: [.init(path: "Other.swift", text: line, reason: "printed so")]).count == 1)
  }

  @Test(arguments: ["var a: [String]", "[KeyName: String]", "// [String: Int]", "func f(_ s: [Substring: Int])"])
  func theseAreNoStringKeys(_ line: String) {
    #expect(stringKeys(swift(line)) == [])
  }
}

@Suite("Floor rules")
struct FloorRuleTests {
  @Test(arguments: ["import Coffer", "public import CofferSQLite", "@testable import struct Coffer.Thing"])
  func importsPointDown(_ line: String) {
    #expect(imports(swift(line)).count == 1)
    #expect(imports(swift(line, at: "Sources/CofferDemo/main.swift")) == [])
  }

  @Test func floorsAreReadFromTheManifest() {
    let manifest = swift(
      """
          // Floor 0: systems
          .systemLibrary(name: "A", pkgConfig: "a"),
          floor("B", ["A"]),
          .macro(
            name: "M", swiftSettings: []),
          // Floor 1: more
          floor(
            "C",
            ["B"]),
          tool("D", ["C"]),
          // Tests
          tool("Helper", ["A"]),
      """, at: "Package.swift")
    #expect(listedTargets(manifest) == ["A": 0, "B": 0, "M": 0, "C": 1, "D": 1])
  }

  @Test func floorsAreReadFromATable() {
    let table = SourceFile(path: "A.md", text: "| floor | target |\n| 1 | [`C`](x), `D` | `E` |\n| 0 | `A` | a |")
    #expect(listedFloors(table) == ["A": 0, "C": 1, "D": 1])
  }

  @Test func aFloorDoesNotImportItself() {
    #expect(imports(swift("import CofferDemo", at: "Sources/CofferCommand/main.swift")).count == 1)
  }

  @Test func unknownModulesNeedAFloor() {
    #expect(imports(swift("import CofferAttic")).count == 1)
    #expect(imports(swift("import Foundation")) == [])
    #expect(imports(swift("", at: "Sources/CofferAttic/A.swift")).count == 1)
  }

  @Test(arguments: ["#if os(Linux)", "  #elseif !os(macOS)"])
  func theFrontHasNoPlatforms(_ line: String) {
    #expect(platformConditions(swift(line, at: "Sources/Coffer/A.swift")).count == 1)
    #expect(platformConditions(swift(line)) == [])
    #expect(platformConditions(swift("#if canImport(os)", at: "Sources/Coffer/A.swift")) == [])
  }
}

@Suite("Text rules")
struct TextRuleTests {
  @Test func unfinishedWorkIsFound() {
    #expect(unfinished(swift("// TO" + "DO: later\n# FIX" + "ME\nXX" + "X")).map(\.line) == [1, 2, 3])
    #expect(unfinished(swift("mktemp /tmp/a.XX" + "XXXX\n\"todo\"")) == [])
  }

  @Test(arguments: ["/home" + "/ann/a", "cd \"/opt" + "/swift\"", "file:///root" + "/a", "(/work" + "/x)"])
  func machinePathsAreFound(_ line: String) {
    #expect(machinePaths(swift(line)).count == 1)
  }

  @Test(arguments: ["$HOME/wo" + "rk/a", "https://example.org/ho" + "me/a", "~/op" + "t/a", "/usr/lib", "at home/a"])
  func theseAreNoMachinePaths(_ line: String) {
    #expect(machinePaths(swift(line)) == [])
  }

  @Test func blanksAtTheEndAreFound() {
    #expect(trailingWhitespace(swift("a \nb\n\t\n")).map(\.line) == [1, 3])
  }
}

@Suite("Document rules")
struct DocumentRuleTests {
  private let paths: Set<String> = ["README.md", "docs/a.md", "docs/b c.md", "Sources/CofferCore/KeyName.swift"]

  private func markdown(_ text: String, at path: String = "docs/a.md") -> SourceFile { swift(text, at: path) }

  @Test(arguments: [
    "[x](gone.md)", "![x](gone.png \"title\")", "<img src=\"../gone.svg\">", "[x]: gone.md", "[x](../../a)",
  ])
  func brokenLinksAreFound(_ line: String) {
    #expect(brokenLinks(markdown("# A\n" + line), paths: paths).map(\.line) == [2])
  }

  @Test(arguments: [
    "[x](../README.md#top)", "[x](https://example.org/a)", "[x](#below)", "[x](<b%20c.md>)", "`[x](gone.md)`",
    "[x](/Sources/CofferCore)", "```\n[x](gone.md)\n```", "[x](mailto:a@example.org)", "[x](..)",
  ])
  func theseLinksLeadSomewhere(_ text: String) {
    #expect(brokenLinks(markdown(text), paths: paths) == [])
  }

  @Test func documentsNeedALink() {
    let readme = markdown("[a](docs/a.md)", at: "README.md")
    #expect(unlinkedDocuments([readme, markdown("[a](a.md)")], paths: paths).map(\.path) == ["docs/b c.md"])
    #expect(unlinkedDocuments([readme, markdown("[b](b%20c.md)")], paths: paths) == [])
  }

  @Test func requirementsHaveTests() {
    let suite = swift("  // Requirements 1.1, 1.2\n  @Test func a() {}\n", at: "Tests/ATests.swift")
    func findings(_ list: String) -> [String] {
      unshownRequirements(markdown(list, at: "docs/r.md"), files: [suite]).map(\.message)
    }
    let list = "- **1.1** x\n- **1.2** *(differs)* y"
    #expect(findings(list) == [])
    #expect(findings(list + "\n- **1.3** z") == ["no test has the comment 'Requirement 1.3'"])
    #expect(findings(list + "\n- **1.3** *(no test)* z\n- **1.4** *(differs, measured)* z") == [])
    #expect(findings("- **1.1** x") == ["there is no requirement 1.2"])
  }

  @Test func namedTasksExist() {
    let run = swift("task_test() {\n}\nhelper() {\n}\n", at: "run")
    #expect(tasks(of: run) == ["test"])
    #expect(unknownTasks(markdown("`./run test` and ./run fly"), tasks: ["test"]).map(\.message).count == 1)
    #expect(unknownTasks(markdown("`./run` and `./run test`"), tasks: ["test"]) == [])
  }
}

@Suite("Masking of text and comments")
struct MaskingTests {
  @Test(arguments: [
    ("a // b", "a     "), ("a /* b /* c */ d */ e", "a                   e"), ("\"a\\\"b\" + c", "\"    \" + c"),
    ("\"\\(a(\"b\") + c) d\" e", "\" (a(\" \") + c)  \" e"), ("#\"a\"b\\(c)\"# d", "#\"       \"# d"),
    ("#\"\\#(a)\"#", "#\"  (a)\"#"), ("\"\"\"\na \"b\"\n\"\"\" c", "\"\"\"\n     \n\"\"\" c"), ("\"é\"!", "\" \"!"),
    ("x = /\"{/ + y", "x = /  / + y"), ("a / b / c", "a / b / c"), ("x = /\\/\"/; y", "x = /   /; y"),
  ])
  func masks(_ text: String, _ expected: String) {
    #expect(maskingTextAndComments(text) == expected)
  }
}

@Suite("Rules for the application")
struct ApplicationRuleTests {
  @Test(arguments: [
    "@testable import CofferSQLite", "  @_spi(Tests) import Coffer", "@testable public import CofferCore",
  ])
  func namesThatAreNotPublicAreFound(_ line: String) {
    #expect(borrowedNames(swift(line, at: "Watchify/Tests/WatchifyTests/S.swift")).count == 1)
    #expect(borrowedNames(swift(line, at: "Tests/CofferTests/S.swift")) == [])
  }

  @Test(arguments: ["import Coffer", "@testable import WatchifyKit", "public import CofferSQLite"])
  func othersAreNot(_ line: String) {
    #expect(borrowedNames(swift(line, at: "Watchify/Sources/WatchifyKit/S.swift")) == [])
  }
}

@Suite("Manifest rules")
struct ManifestRuleTests {
  @Test func aDependencyThatNobodyImportsIsFound() {
    let manifest = swift(
      """
      .systemLibrary(name: "CZ", pkgConfig: "z"),
      floor("A", []), floor("B", []), tool("T", shared + ["A"]),
      tests("ATests", ["A", "B", "CZ", "T", .target(name: "Late", condition: .when(traits: ["B"]))], exclude: ["G"]),
      """, at: "Package.swift")
    let tests = swift("@testable import A\nimport struct Foundation.Data\n", at: "Tests/ATests/S.swift")
    #expect(unusedDependencies([manifest], of: [tests]) == ["T: A", "ATests: B", "ATests: CZ", "ATests: B"])
    let main = swift("package import A\n", at: "Sources/T/main.swift")
    let rest = swift("import B\nimport CZ\n", at: "Tests/ATests/Sub/U.swift")
    #expect(unusedDependencies([manifest], of: [tests, main, rest]) == [])
    // A header that includes another needs its module.
    let header = swift("#include \"../CZ/shim.h\"\n", at: "Sources/B/shim.h")
    let without = swift("import B\n", at: "Tests/ATests/Sub/U.swift")
    #expect(unusedDependencies([manifest], of: [tests, main, without, header]) == [])
  }
}

@Suite("Program rules")
struct ProgramRuleTests {
  private let tables = packageTables(
    of: SourceFile(path: "run", text: "readonly packages='\ncurl  bin/curl\npostgresql-15 lib/15/bin/postgres\n'"))

  @Test(arguments: [
    "process.executableURL = URL(fileURLWithPath: \"/usr/bin/strace\")", "Process.run(\"/usr/sbin/fsck\")",
    "let env = \"/usr/bin/env\"; try run([\"strace\", \"-f\"])",
  ])
  func programsWithoutAPackageAreFound(_ line: String) {
    #expect(unknownPrograms(swift(line), tables: tables).count == 1)
  }

  @Test(arguments: [
    "let env = \"/usr/bin/env\"; try run([\"curl\", \"-sS\"])", "URL(fileURLWithPath: \"/bin/cp\")",
    "/// process.executableURL = \"/usr/bin/strace\"", "\"/usr/bin/psql\"", "try run([\"strace\", \"-f\"])",
  ])
  func theseAreInstalled(_ line: String) {
    #expect(unknownPrograms(swift(line), tables: tables) == [])
  }

  @Test func startsBesideOthersAreFound() {
    #expect(unguardedStarts(swift("let process = Process()\ntry process.run()")).count == 1)
    #expect(unguardedStarts(swift("let process = Process()\ntry process.runUnblocked()")) == [])
  }
}

@Suite("Wait rules")
struct WaitRuleTests {
  @Test(arguments: [
    "try await Task.sleep(for: .seconds(1))", "while !isDone { usleep(5) }", "Thread.sleep(forTimeInterval: 1)",
    "sleep(1)", "Glibc.nanosleep(&time, nil)", "ContinuousClock().sleep(for: pause)", "usleep(5)  // time passes:",
    "let a = \"// time passes: no\"; usleep(5)", "func eventually(_ isSo: () -> Bool) {",
  ])
  func sleepsAreFound(_ line: String) {
    #expect(sleeps(swift(line)).count == 1)
  }

  @Test(arguments: [
    "usleep(5)  // time passes: the disk is slow", "try await clock.sleep(for: .zero)", "run(\"sleep(1)\")",
    "// usleep(5)", "Sleeps(2)", "try await eventually(\"it ends\") { isDone }",
  ])
  func theseDoNotSleep(_ line: String) {
    #expect(sleeps(swift(line)) == [])
  }
}
