/// A library reports what goes wrong; it does not end its user's process.
func crashes(_ file: SourceFile) -> [Finding] {
  file.findings("'fatalError' ends the user's process: throw, or make the state impossible", with: "fatalError") {
    $0.contains(/\bfatalError\(/)
  }
    + file.findings("'try!' ends the user's process: throw", with: "try!") { $0.contains(/\btry!/) }
    + file.findings("'as!' ends the user's process: use 'as?' and say what to do otherwise", with: "as!") {
      $0.contains(/\bas!/)
    }
}

/// `value!` and `Type!`: both are crashes that wait. (`a != b` is neither, and `try!` has a rule of its own.)
func forceUnwraps(_ file: SourceFile) -> [Finding] {
  file.findings("a force unwrap ends the user's process: use 'guard let'", with: "!") { line in
    // Document 2 prints it so, and no code of ours reads it without looking.
    let isPrinted = file.path == "Watchify/Sources/WatchifyKit/Store/StoreService.swift"
    if isPrinted, line.contains("var shared: StoreService! {") { return false }
    return line.replacing(/\b(?:try|as)!/, with: "").contains(/[\w)\]}>"?]!(?!=)/)
  }
}

/// A library has no business on its user's standard output.
func prints(_ file: SourceFile) -> [Finding] {
  file.findings("a library does not print: throw, or tell a subscriber", with: "rint(", "dump(") {
    $0.contains(/(?:^|[^\w.]|\bSwift\.)(?:debugPrint|print|dump)\(/) && !$0.contains(/\bfunc\s+(?:print|dump)\(/)
  }
}

/// Where the compiler's checks are switched off, the reader needs to know why it is right.
func unexplainedExceptions(_ file: SourceFile) -> [Finding] {
  file.code(with: "@unchecked", "nonisolated(unsafe)", "@preconcurrency").compactMap { index in
    guard let match = file.code[index].firstMatch(of: /@unchecked\s+Sendable|nonisolated\(unsafe\)|@preconcurrency/)
    else { return nil }
    var above = index - 1
    while above >= 0, file.lines[above].contains(/^\s*@/) { above -= 1 }  // attributes may stand between
    if above >= 0, file.lines[above].drop(while: { $0 == " " }).hasPrefix("//") { return nil }
    if file.lines[index].contains(" // ") { return nil }
    return file.finding(index, "'\(match.output)' needs a comment above it that says why it is safe")
  }
}

/// A place where text is the right key after all.
struct StringKeyException: Sendable {
  let path: String
  /// A part of the line.
  let text: String
  let reason: String
}

/// Swift's `String` equality merges Unicode forms that are different keys to every store.
func stringKeys(_ file: SourceFile, except exceptions: [StringKeyException] = stringKeyExceptions) -> [Finding] {
  let message = "keyed by String, which merges Unicode forms: key it by StoreKey, or add a reason to the allow-list"
  return file.findings(message, with: "String") { line in
    guard line.contains(/\[\s*String\s*:|\bDictionary<\s*String\b|\bSet<\s*String\b/) else { return false }
    return !exceptions.contains { $0.path == file.path && line.contains($0.text) }
  }
}

/// Each entry says where, what and why. An entry that nothing needs any more fails the tests.
let stringKeyExceptions: [StringKeyException] = [
  StringKeyException(
    path: "Watchify/Sources/WatchifyKit/Notifications/NotificationService.swift", text: "[String: ChannelError]",
    reason: "names that channels give themselves"),
  StringKeyException(
    path: "Sources/CofferPreferences/PropertyList/PropertyListDocument.swift", text: "var entries: [String: Any]",
    reason: "what Foundation writes; its own dictionary ends the process over two forms of one name"),
  StringKeyException(
    path: "Sources/Coffer/Router/Routing/KeyRegistry.swift", text: "[String: ",
    reason: "names of registered keys: two Unicode forms of one name are refused as one"),
  StringKeyException(
    path: "Sources/Coffer/Router/Sync/StorageRouter+Sync.swift", text: "[String: ",
    reason: "names of registered keys: two Unicode forms of one name are refused as one"),
  StringKeyException(
    path: "Sources/Coffer/Router/Sync/SyncSnapshot.swift", text: "[String: Data]",
    reason: "names of registered keys: two Unicode forms of one name are refused as one"),
  StringKeyException(
    path: "Sources/Coffer/Router/Models/StorageConfiguration.swift", text: "[String: any StorageEngine]",
    reason: "names that the application itself gives"),
  StringKeyException(
    path: "Sources/Coffer/Router/Models/AnyCodable.swift", text: "[String: AnyCodable]",
    reason: "what Foundation's coders make of an object"),
  StringKeyException(
    path: "Sources/Coffer/Router/Migration/StorageMigration.swift", text: "[String: AnyCodable]",
    reason: "words that a migration says of itself"),
  StringKeyException(
    path: "Sources/Coffer/Router/Migration/DeviceInfo.swift", text: "[String: String]",
    reason: "os-release has ASCII names"),
]
