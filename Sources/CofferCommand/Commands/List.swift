import Coffer
import CofferTerminal

/// Implements `coffer ls`, which lists keys without reading values.
func listKeys(_ invocation: Invocation) async throws -> ExitStatus {
  let prefix = try invocation.prefix()
  if invocation.has(.null), invocation.has(.json) {
    throw UsageError("'ls' takes --null or --json, not both.", .ls)
  }
  let output = Output.standard
  var status = ExitStatus.ok
  try await withStore(invocation) { engine in
    let printer = ListPrinter(invocation, latest: engine.latestRevision, output: output)
    try printer.begin()
    try await Listing(engine, of: StoreEntrySummary.self, prefix: prefix).visit { item in
      if case .skipped = item { status = .failure }
      try printer.print(item)
    }
  }
  try output.flush()
  return status
}

private struct ListPrinter {
  private static let sizeWidth = 10

  private let output: Output
  private let isJSON: Bool
  private let isLong: Bool
  private let end: String
  private let revisionWidth: Int

  init(_ invocation: Invocation, latest: StoreRevision, output: Output) {
    self.output = output
    revisionWidth = max("REVISION".count, latest.description.count)
    isJSON = invocation.has(.json)
    isLong = invocation.has(.long)
    end = invocation.has(.null) ? "\0" : "\n"
  }

  /// Prints the column headings on a terminal.
  func begin() throws {
    guard isLong, !isJSON, output.isTerminal, end == "\n" else { return }
    let heading = "SIZE".paddedLeft(to: Self.sizeWidth) + "  " + "REVISION".paddedLeft(to: revisionWidth) + "  KEY"
    try output.writeLine(output.style.dim(heading))
  }

  func print(_ item: Listing<StoreEntrySummary>.Item) throws {
    if isJSON { return try output.writeLine(json(item).line) }
    // Keys are escaped only on a terminal: elsewhere another program reads them.
    let key = output.isTerminal ? item.key.string.oneLine() : item.key.string
    switch item {
    case .found(let summary) where isLong:
      let size = (summary.size.map { byteCount($0) } ?? "-").paddedLeft(to: Self.sizeWidth)
      let revision = String(summary.revision.rawValue).paddedLeft(to: revisionWidth)
      try output.write("\(size)  \(revision)  \(key)\(end)")
    case .skipped(let skipped) where isLong:
      let columns = skipped.word.paddedLeft(to: Self.sizeWidth) + "  " + "-".paddedLeft(to: revisionWidth)
      try output.write("\(output.style.red(columns))  \(key)\(end)")
    case .found: try output.write(key + end)
    case .skipped where end == "\0": try output.write(key + end)
    case .skipped(let skipped): try output.write("\(key)\(output.style.red("  (\(skipped.word))"))\(end)")
    }
  }

  private func json(_ item: Listing<StoreEntrySummary>.Item) -> JSON {
    switch item {
    case .found(let summary):
      .object(
        [
          ("key", .text(summary.key.string)), ("size", summary.size.map { .number($0) } ?? .none),
          ("revision", .number(summary.revision.rawValue)), ("damaged", .flag(false)),
        ] + summary.attributes.expiryMembers)
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
