import Coffer
import CofferEncryption
import CofferTerminal

/// Implements `coffer ls`, which lists keys without reading values.
func listKeys(_ invocation: Invocation) async throws -> ExitStatus {
  let prefix = try invocation.prefix()
  if invocation.has(.null), invocation.has(.json) {
    throw Command.mistake("'ls' takes --null or --json, not both.", .ls)
  }
  let output = Output.standard
  var (status, lost) = (ExitStatus.ok, StorageError?.none)
  try await withStore(invocation, for: .names) { engine in
    let printer = ListPrinter(invocation, engine, output: output)
    try printer.begin()
    try await Listing(engine, of: StoreEntry.Summary.self, prefix: prefix).visit { item in
      if case .skipped(let skipped) = item {
        status = .failure
        if skipped.error.code == .keyUnavailable { lost = .ringIsLost(location: engine.description) }
      }
      try engine.refuseHiddenName(item)
      try printer.print(item)
    }
  }
  try output.flush()
  if let lost { throw lost }
  return status
}

private struct ListPrinter {
  private static let sizeWidth = 10

  private let output: Output
  private let isJSON: Bool
  private let isLong: Bool
  private let end: String
  private let revisionWidth: Int
  /// Whether all values are encrypted, or as each one states; `nil` for a store without encryption.
  private let encryption: Encryption?

  private enum Encryption { case all, asStated }

  init(_ invocation: Invocation, _ engine: any StorageEngine, output: Output) {
    self.output = output
    revisionWidth = max("REVISION".count, engine.latestRevision.description.count)
    let isOpened = engine.as(EncryptedEngine.self) != nil
    encryption = engine.as(KeylessEngine.self) != nil ? .asStated : isOpened ? .all : nil
    isJSON = invocation.has(.json)
    isLong = invocation.has(.long)
    end = invocation.has(.null) ? "\0" : "\n"
  }

  /// Prints the column headings on a terminal.
  func begin() throws {
    guard isLong, !isJSON, output.isTerminal, end == "\n" else { return }
    let heading =
      "SIZE".paddedLeft(to: Self.sizeWidth) + "  " + "REVISION".paddedLeft(to: revisionWidth)
      + (encryption == nil ? "" : "  PROTECTION") + "  KEY"
    try output.writeLine(output.style.dim(heading))
  }

  func print(_ item: Listing<StoreEntry.Summary>.Item) throws {
    if isJSON { return try output.writeLine(json(item).line) }
    // Keys are escaped only on a terminal: elsewhere another program reads them.
    let key = output.isTerminal ? item.key.string.oneLine() : item.key.string
    switch item {
    case .found(let summary) where isLong:
      let size = (summary.size.map { byteCount($0) } ?? "-").paddedLeft(to: Self.sizeWidth)
      let revision = String(summary.revision.rawValue).paddedLeft(to: revisionWidth)
      let protection = isEncrypted(summary).map { "  " + ($0 ? "encrypted" : "plain").padded(to: 10) } ?? ""
      try output.write("\(size)  \(revision)\(protection)  \(key)\(end)")
    case .skipped(let skipped) where isLong:
      let columns =
        skipped.word.paddedLeft(to: Self.sizeWidth) + "  " + "-".paddedLeft(to: revisionWidth)
        + (encryption == nil ? "" : "  " + "-".padded(to: 10))
      try output.write("\(output.style.red(columns))  \(key)\(end)")
    case .found: try output.write(key + end)
    case .skipped where end == "\0": try output.write(key + end)
    case .skipped(let skipped): try output.write("\(key)\(output.style.red("  (\(skipped.word))"))\(end)")
    }
  }

  private func isEncrypted(_ summary: StoreEntry.Summary) -> Bool? {
    encryption.map { $0 == .all || summary.isEncrypted }
  }

  private func json(_ item: Listing<StoreEntry.Summary>.Item) -> JSON {
    switch item {
    case .found(let summary):
      .object(
        [
          ("key", .text(summary.key.string)), ("size", summary.size.map { .number($0) } ?? .none),
          ("revision", .number(summary.revision.rawValue)), ("damaged", .flag(false)),
        ] + (isEncrypted(summary).map { [("encrypted", .flag($0))] } ?? []) + summary.attributes.expiryMembers)
    case .skipped(let skipped):
      .object([
        ("key", .text(skipped.key.string)), ("size", .none), ("revision", .none),
        ("damaged", .flag(skipped.isDamaged)),
      ])
    }
  }
}

extension Skipped {
  /// The word in the column of sizes, no wider than a size.
  fileprivate var word: String { isDamaged ? "damaged" : "unreadable" }
}

extension StorageEngine {
  /// Throws for a value whose name is hidden, if the store was opened without its key.
  fileprivate func refuseHiddenName(_ item: Listing<StoreEntry.Summary>.Item) throws {
    guard let keyless = self.as(KeylessEngine.self), case .found(let summary) = item, summary.attributes.hasSealedName
    else { return }
    let error = keyless.refusal(of: summary.key)
    throw CommandError(
      .failure, error.code.description, "The names of the keys are hidden, and no key was given.",
      advice: error.advice, store: description)
  }
}
