import Coffer
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTerminal
import Foundation

/// Implements `coffer info`, which describes the store.
func describeStore(_ invocation: Invocation) async throws -> ExitStatus {
  let chain = try await ChainFacts(invocation)
  var facts = try await withStore(invocation, for: .ifGiven) { try await StoreFacts($0) }
  facts.chain = chain
  facts.isReadOnlyAsked = invocation.has(.readOnly)
  if invocation.has(.json) {
    try print(facts.json)
  } else {
    let output = Output.standard
    try output.write(facts.text(output.style))
    try output.flush()
  }
  return facts.damaged == 0 && facts.sealed == 0 && facts.obstacle == nil && !facts.hasLostCommits ? .ok : .failure
}

/// The stores of a chain, and the one that was selected.
private struct ChainFacts {
  let links: [String]
  let taken: Int
  let reason: String

  init?(_ invocation: Invocation) async throws {
    let options = Passphrases(invocation).options(creating: false)
    guard let chain = try StoreLocation.of(invocation).secretChain(options) else { return nil }
    let choice = try await chain.choose()
    links = chain.links.map(\.description)
    taken = choice.index
    reason = choice.reason
  }

  /// The stores of the chain, a line each such as `1. keychain:shop`; the selected one has the reason after it.
  var lines: [String] {
    links.enumerated().map { index, link in
      "\(index + 1). \(link.oneLine())" + (index == taken ? ", selected: \(reason.oneLine())" : "")
    }
  }

  var json: JSON {
    .object([
      ("links", .list(links.map(JSON.text))), ("selected", .text(links[taken])), ("reason", .text(reason)),
    ])
  }
}

private struct StoreFacts {
  let store: String
  let path: String?
  let databaseBytes: Int?
  let log: LogStatus?
  let revision: StoreRevision
  let journalStart: StoreRevision?
  let capabilities: StoreCapabilities
  private(set) var keys = 0
  /// The sum of the sizes, or `nil` when sizes are not available without reading the values.
  private(set) var valueBytes: Int? = 0
  private(set) var damaged = 0
  /// The number of encrypted values in a store that has lost its key ring.
  private(set) var sealed = 0
  /// The number of values that expire.
  private(set) var expiring = 0
  /// Whether this process cannot write to the store.
  let isReadOnly: Bool
  /// The number of replaced values that are retained for snapshots, or `nil` for a store that retains none.
  private(set) var retained: Int?
  /// The reason why the store cannot be read, in which case its values are not counted.
  private(set) var obstacle: String?
  /// The lost commits, until the loss is accepted.
  private let loss: LossReport?
  private let position: JournalPosition
  /// Whether secrets cross the session bus unencrypted, or `nil` for a store that does not use the bus.
  private(set) var hasPlainSession: Bool?
  /// How the values are encrypted; `nil` for a store that encrypts none.
  private let encryption: EncryptionFacts?
  var chain: ChainFacts?
  var isReadOnlyAsked = false

  init(_ engine: any StorageEngine) async throws {
    store = engine.description
    path = engine.as(SQLiteEngine.self)?.path
    isReadOnly = engine.isReadOnly
    databaseBytes = path.flatMap(size)
    log = try engine.as(SQLiteEngine.self)?.logStatus()
    position = engine.latestPosition
    revision = position.revision
    loss = try await engine.database?.loss()
    capabilities = engine.capabilities
    encryption = try await EncryptionFacts(engine)
    journalStart = await oldestKnownCommit(engine)
    for await availability in engine.availability() {
      if case .unavailable(let reason) = availability { obstacle = reason }
      break
    }
    guard obstacle == nil else { return }
    retained = try await engine.as(SlotEngine.self)?.retainedCount()
    if store.hasPrefix("keychain:"), allowsPlainKeyring { hasPlainSession = KeyringInspection.hasPlainSession() }
    try await Listing(engine, of: StoreEntry.Summary.self).visit { item in
      keys += 1
      switch item {
      case .found(let summary):
        valueBytes = valueBytes.flatMap { sum in summary.size.map { sum + $0 } }
        if summary.attributes.expires != nil { expiring += 1 }
      case .skipped(let skipped) where skipped.isDamaged: damaged += 1
      case .skipped(let skipped) where skipped.error.code == .keyUnavailable: sealed += 1
      case .skipped(let skipped): throw skipped.error
      }
    }
  }

  var hasLostCommits: Bool { loss?.includesDurable ?? false }

  private var format: String { String(store.prefix { $0 != ":" }) }

  func text(_ style: Style) -> String {
    var rows = [("Store", store.oneLine()), ("Format", format)]
    for (index, line) in (chain?.lines ?? []).enumerated() { rows.append((index == 0 ? "Links" : "", line)) }
    if let obstacle { rows.append(("State", style.red("unavailable: ") + obstacle.oneLine())) }
    if isReadOnly, !isReadOnlyAsked {
      rows.append(("Access", style.yellow("read-only") + ": this process cannot write to it"))
    }
    if let encryption { rows.append(("Secrecy", encryption.sentence)) }
    if let anchor = encryption?.anchor { rows.append(("Anchor", anchor.inWords)) }
    if hasPlainSession == true { rows.append(("Bus", style.red("secrets cross it unencrypted"))) }
    if let databaseBytes {
      rows.append(("On disk", byteCount(databaseBytes) + (log.map { " and a log of \(byteCount($0.bytes))" } ?? "")))
    }
    for (index, reader) in (log?.readers ?? []).enumerated() {
      rows.append((index == 0 ? "Log" : "", "held back by \(reader.description.oneLine()), reading an old snapshot"))
    }
    if obstacle == nil { rows.append(("Keys", grouped(keys))) }
    if obstacle == nil, let valueBytes {
      rows.append(("Values", byteCount(valueBytes) + (valueBytes < 1_024 ? "" : " (\(grouped(valueBytes)) bytes)")))
    }
    if expiring > 0 { rows.append(("Expiring", counted(expiring, "value"))) }
    if sealed > 0 {
      let verb = sealed == 1 ? "is" : "are"
      rows.append(
        ("Key ring", style.red("lost: \(counted(sealed, "value")) \(verb) encrypted") + ". See coffer verify"))
    }
    if let loss { rows.append(("Lost", style.red(loss.message) + " See coffer verify")) }
    if damaged > 0 { rows.append(("Damaged", style.red(counted(damaged, "value") + ": see coffer verify"))) }
    if let retained, retained > 0 { rows.append(("Kept", "\(counted(retained, "replaced value")) for open snapshots")) }
    rows.append(("Revision", "\(revision)"))
    if let journalStart { rows.append(("Journal", "revisions \(journalStart) to \(revision)")) }
    rows.append(("Largest", "values up to \(byteCount(capabilities.maximumValueSize))"))
    let names = capabilities.names
    for start in stride(from: 0, to: names.count, by: 4) {
      let line = names[start..<min(start + 4, names.count)].joined(separator: ", ")
      rows.append((start == 0 ? "Can do" : "", line + (start + 4 < names.count ? "," : "")))
    }
    return rows.map { "\(style.bold($0.0.padded(to: 8)))  \($0.1)\n" }.joined()
  }

  var json: JSON {
    let journal = journalStart.map { start in
      JSON.object([("first", .number(start.rawValue)), ("last", .number(revision.rawValue))])
    }
    return .object([
      ("store", .text(store)), ("format", .text(format)), ("path", .optional(path)),
      ("databaseBytes", databaseBytes.map { .number($0) } ?? .none),
      ("logBytes", log.map { .number($0.bytes) } ?? .none), ("log", log?.json ?? .none),
      ("chain", chain?.json ?? .none), ("unavailable", .optional(obstacle)),
      ("readOnly", .flag(isReadOnly)),
      ("keys", obstacle == nil ? .number(keys) : .none),
      ("valueBytes", obstacle == nil ? valueBytes.map { .number($0) } ?? .none : .none),
      ("expiring", .number(expiring)), ("damaged", .number(damaged)), ("keyRingLost", .flag(sealed > 0)),
      ("loss", loss?.json ?? .none),
      ("retained", retained.map { .number($0) } ?? .none), ("unencryptedBus", .flag(hasPlainSession == true)),
      ("encryption", encryption?.json ?? .none),
      ("revision", .number(revision.rawValue)), ("position", .text("\(position)")), ("journal", journal ?? .none),
      ("maximumValueSize", .number(capabilities.maximumValueSize)),
      ("capabilities", .list(capabilities.names.map(JSON.text))),
    ])
  }
}

extension LogStatus {
  fileprivate var json: JSON {
    .object([
      ("frames", .number(frames)), ("uncopied", .number(uncopied)),
      (
        "readers",
        .list(
          readers.map { reader in
            .object([("process", .number(Int(reader.process))), ("program", .text(reader.program))])
          })
      ),
    ])
  }
}

private func size(of path: String) -> Int? {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : nil
}

/// Returns the oldest commit that the journal can replay, found by binary search, since every later one can be, too.
private func oldestKnownCommit(_ engine: any StorageEngine) async -> StoreRevision? {
  guard engine.capabilities.contains(.replay), engine.latestRevision > .zero else { return nil }
  var low: UInt64 = 0
  var high = engine.latestRevision.rawValue
  while low < high {
    let middle = low + (high - low) / 2
    var changes = engine.changes(since: StoreRevision(middle)).makeAsyncIterator()
    if case .commit = await changes.next() { high = middle } else { low = middle + 1 }
  }
  return low < engine.latestRevision.rawValue ? StoreRevision(low + 1) : nil
}

extension StoreCapabilities {
  /// The capabilities as words for people and JSON.
  fileprivate var names: [String] {
    let all: [(Features, String)] = [
      (.atomicBatches, "atomic batches"), (.preconditions, "preconditions"), (.snapshots, "snapshots"),
      (.listing, "listing"), (.persistence, "persistence"), (.replay, "replay"),
      (.foreignWriters, "foreign writers"), (.powerLossSafety, "power loss safety"), (.revisions, "revisions"),
      (.attributes, "attributes"), (.immediateRevisions, "immediate revisions"), (.secrecy, "secrecy"),
      (.propertyLists, "property lists"),
    ]
    return all.filter { contains($0.0) }.map(\.1)
  }
}
