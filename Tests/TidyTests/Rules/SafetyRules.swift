/// Finds calls that terminate the process: a library reports errors instead.
func crashes(_ file: SourceFile) -> [Finding] {
  file.findings("'fatalError' ends the user's process: throw, or make the state impossible", with: "fatalError") {
    $0.contains(/\bfatalError\(/)
  }
    + file.findings("'try!' ends the user's process: throw", with: "try!") { $0.contains(/\btry!/) }
    + file.findings("'as!' ends the user's process: use 'as?' and handle the failure", with: "as!") {
      $0.contains(/\bas!/)
    }
}

/// Finds `value!` and `Type!`, which may crash later. `a != b` is neither, and `try!` has a separate rule.
func forceUnwraps(_ file: SourceFile) -> [Finding] {
  file.findings("a force unwrap ends the user's process: use 'guard let'", with: "!") { line in
    // The declaration is specified this way, and every use in this package checks for `nil`.
    let isPrinted = file.path == "Watchify/Sources/WatchifyKit/Database/StoreService.swift"
    if isPrinted, line.contains("var shared: StoreService! {") { return false }
    return line.replacing(/\b(?:try|as)!/, with: "").contains(/[\w)\]}>"?]!(?!=)/)
  }
}

/// Finds output to standard output, which a library must not write to.
func prints(_ file: SourceFile) -> [Finding] {
  file.findings("a library does not print: throw, or notify a subscriber", with: "rint(", "dump(") {
    $0.contains(/(?:^|[^\w.]|\bSwift\.)(?:debugPrint|print|dump)\(/) && !$0.contains(/\bfunc\s+(?:print|dump)\(/)
  }
}

/// Finds locks that optimized asynchronous functions could inline.
func inlinableLocks(_ file: SourceFile) -> [Finding] {
  guard file.path != "Sources/CofferCore/Concurrency/Locked.swift" else { return [] }
  return file.findings("use Locked, whose comment says why", with: "Mutex") { $0.contains(/\bMutex[<(]/) }
}

/// Finds disabled compiler checks without a comment that explains why they are safe.
func unexplainedExceptions(_ file: SourceFile) -> [Finding] {
  file.code(with: "@unchecked", "nonisolated(unsafe)", "@preconcurrency").compactMap { index in
    guard let match = file.code[index].firstMatch(of: /@unchecked\s+Sendable|nonisolated\(unsafe\)|@preconcurrency/)
    else { return nil }
    var above = index - 1
    while above >= 0, file.lines[above].contains(/^\s*@/) { above -= 1 }  // attributes may come between
    if above >= 0, file.lines[above].drop(while: { $0 == " " }).hasPrefix("//") { return nil }
    if file.lines[index].contains(" // ") { return nil }
    return file.finding(index, "'\(match.output)' needs a comment above it that explains why it is safe")
  }
}

/// An exception to the rule against `String` keys.
struct StringKeyException: Sendable {
  let path: String
  /// A part of the line that the exception applies to.
  let text: String
  let reason: String
}

/// Finds collections keyed by `String`, whose equality merges Unicode forms that are different keys in every store.
func stringKeys(_ file: SourceFile, except exceptions: [StringKeyException] = stringKeyExceptions) -> [Finding] {
  let message = "keyed by String, which merges Unicode forms: key it by KeyName, or add a reason to the allow-list"
  return file.findings(message, with: "String") { line in
    guard line.contains(/\[\s*String\s*:|\bDictionary<\s*String\b|\bSet<\s*String\b/) else { return false }
    return !exceptions.contains { $0.path == file.path && line.contains($0.text) }
  }
}

/// The exceptions to the rule, each with a reason. An entry that is no longer needed fails the tests.
let stringKeyExceptions: [StringKeyException] = [
  StringKeyException(
    path: "Watchify/Sources/WatchifyKit/Notifications/NotificationService.swift", text: "[String: ChannelError]",
    reason: "names that channels define"),
  StringKeyException(
    path: "Sources/CofferRouter/Routing/KeyRegistry.swift", text: "[String: ",
    reason: "names of registered keys: two Unicode forms of one name are refused as one"),
  StringKeyException(
    path: "Sources/CofferRouter/Models/StorageConfiguration.swift", text: "[String: any StorageEngine]",
    reason: "names that the application defines"),
  StringKeyException(
    path: "Sources/CofferRouter/Models/AnyCodable.swift", text: "[String: AnyCodable]",
    reason: "the representation of objects in Foundation's coders"),
  StringKeyException(
    path: "Sources/CofferRouter/Migration/StorageMigration.swift", text: "[String: AnyCodable]",
    reason: "metadata that a migration defines"),
  StringKeyException(
    path: "Sources/CofferRouter/Migration/DeviceInfo.swift", text: "[String: String]",
    reason: "the names in os-release are ASCII"),
]
