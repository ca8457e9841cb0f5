import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// Implements `coffer keys`, which lists the data keys of an encrypted store, and never their material.
func listDataKeys(_ invocation: Invocation) async throws -> ExitStatus {
  try await withKeyRing(invocation, access: invocation.access) { engine in
    let stored = try await StoredKeyRingFacts(engine)
    let base = engine.base
    let counts: EnvelopeCounts
    do { counts = try await interruptible { try await EnvelopeCounts(base) } } catch is CancellationError {
      throw CommandError(.interrupted, "interrupted", "Interrupted.")
    }
    let anchor = AnchorState(isKnown: stored?.hasAnchor == true, isCompared: engine.comparesAnchor)
    let list = KeyList(
      store: engine.description, ring: engine.keyRing, stored: stored, anchor: anchor, counts: counts)
    if invocation.has(.json) {
      try print(list.json)
    } else {
      let output = Output.standard
      try output.write(list.text(output.style, now: Date()))
      try output.flush()
    }
    return .ok
  }
}

/// The number of values of a store under each data key. Counting reads every value, and opens none.
struct EnvelopeCounts: Sendable {
  private(set) var byKey: [KeyID: Int] = [:]
  private(set) var plain = 0
  /// The number of values that could not be read, or that are no envelopes.
  private(set) var unreadable = 0

  init(_ base: any StorageEngine) async throws {
    let line = ProgressLine("Counting:")
    defer { line.clear() }
    var (values, bytes) = (0, 0)
    try await Listing(base, of: StoreEntry.self).visit { item in
      try Task.checkCancellation()
      values += 1
      guard case .found(let entry) = item else {
        unreadable += 1
        return
      }
      bytes += entry.value.count
      line.update(values: values, bytes: bytes)
      guard entry.attributes.isMarked else {
        plain += 1
        return
      }
      guard let id = try? EnvelopeHeader(of: entry.value).keyID else {
        unreadable += 1
        return
      }
      byKey[id, default: 0] += 1
    }
  }
}

private struct KeyList {
  let store: String
  let ring: KeyRing
  let stored: StoredKeyRingFacts?
  let anchor: AnchorState?
  let counts: EnvelopeCounts

  /// The number of values under keys that the ring does not have, or that were destroyed.
  private var lost: Int {
    counts.byKey.filter { id, _ in !ring.entries.contains { $0.id == id && $0.state != .destroyed } }
      .reduce(0) { $0 + $1.value }
  }

  func text(_ style: Style, now: Date) -> String {
    let settings = ring.settings
    var rows = [
      ("Store", store.oneLine()), ("Opened by", stored?.keyInWords ?? "-"), ("Cipher", settings.algorithm.rawValue),
      ("Names", settings.hidesNames ? "hidden" : "in plain"), ("Sizes", settings.padsValues ? "padded" : "exact"),
      ("Covers", ring.coverage == .all ? "all values" : "the values of declared keys"),
      ("Changes", grouped(ring.generation)),
    ]
    if let anchor { rows.append(("Anchor", anchor.inWords)) }
    if counts.plain > 0 { rows.append(("In plain", counted(counts.plain, "value"))) }
    if lost > 0 { rows.append(("Lost", style.red(counted(lost, "value") + " under keys that are not here"))) }
    if counts.unreadable > 0 { rows.append(("Damaged", style.red(counted(counts.unreadable, "value")))) }
    let head = rows.map { "\(style.bold($0.0.padded(to: 9)))  \($0.1)\n" }.joined()
    let columns = ["KEY", "STATE", "CREATED", "CHANGED", "AGE", "VALUES"]
    let cells = ring.entries.map { entry in
      [
        entry.id.short, "\(entry.state)", Self.day(entry.created), entry.changed.map(Self.day) ?? "-",
        age(of: entry.created, at: now), grouped(counts.byKey[entry.id] ?? 0),
      ]
    }
    let widths = columns.indices.map { index in ([columns] + cells).map { $0[index].count }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      // The last column is flush right.
      zip(cells, widths).dropLast().map { $0.padded(to: $1) + "  " }.joined()
        + (cells.last ?? "").paddedLeft(to: widths.last ?? 0) + "\n"
    }
    return head + "\n" + style.dim(line(columns)) + cells.map(line).joined()
  }

  private static func day(_ date: Date) -> String {
    date.formatted(.iso8601.year().month().day().dateSeparator(.dash))
  }

  var json: JSON {
    .object([
      ("store", .text(store)), ("key", .text(stored?.needsPassphrase == true ? "passphrase" : "material")),
      ("cipher", .text(ring.settings.algorithm.rawValue)), ("namesHidden", .flag(ring.settings.hidesNames)),
      ("padded", .flag(ring.settings.padsValues)), ("coverage", .text(ring.coverage == .all ? "all" : "declared")),
      ("generation", .number(ring.generation)), ("anchor", .optional(anchor?.rawValue)),
      ("plain", .number(counts.plain)), ("lost", .number(lost)), ("unreadable", .number(counts.unreadable)),
      (
        "keys",
        .list(
          ring.entries.map { entry in
            .object([
              ("id", .text(entry.id.short)), ("state", .text("\(entry.state)")),
              ("created", .text(entry.created.formatted(.iso8601))),
              ("changed", .optional(entry.changed?.formatted(.iso8601))),
              ("values", .number(counts.byKey[entry.id] ?? 0)),
            ])
          })
      ),
    ])
  }
}

/// Returns the age of a key in words: `3 hours`, `12 days`.
func age(of date: Date, at now: Date) -> String {
  let hours = max(0, Int(now.timeIntervalSince(date) / 3_600))
  return hours < 48 ? counted(hours, "hour") : counted(hours / 24, "day")
}
