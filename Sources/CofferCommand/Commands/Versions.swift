import Coffer
import CofferCore
import CofferTerminal

/// Implements `coffer schema`, which counts the versions of the values in a store.
func listVersions(_ invocation: Invocation) async throws -> ExitStatus {
  let prefix = try invocation.options[.prefix].map(invocation.makeKey)
  return try await withStore(
    at: invocation.onlyLocation(), KeySources(invocation), access: invocation.access
  ) { engine in
    let versions = try await StoredVersions(engine, prefix: prefix)
    if invocation.has(.json) {
      try print(versions.json(engine.description))
    } else {
      let output = Output.standard
      for line in versions.lines { try output.write(line + "\n") }
      try output.flush()
    }
    return versions.unknown == 0 ? .ok : .failure
  }
}

/// The numbers of values by schema and version.
struct StoredVersions: Sendable {
  struct Count: Sendable {
    var values = 0
    var kept = 0
  }

  private(set) var counts: [SchemaMark: Count] = [:]
  /// The values without a mark, and the kept forms of such values.
  private(set) var unmarked = Count()
  /// The number of values whose mark has an unknown form.
  private(set) var unknown = 0

  init(_ engine: any StorageEngine, prefix: StoreKey?) async throws {
    self = try await engine.withSnapshot { snapshot in
      var versions = StoredVersions()
      for summary in try await snapshot.listingKeptForms.allSummaries(prefix: prefix) { versions.add(summary) }
      return versions
    }
  }

  private init() {}

  private mutating func add(_ summary: StoreEntrySummary) {
    let isKept = KeptForms.contains(summary.key)
    do {
      let field = isKept ? \Count.kept : \Count.values
      if let mark = try SchemaMark(in: summary.attributes) {
        counts[mark, default: Count()][keyPath: field] += 1
      } else {
        unmarked[keyPath: field] += 1
      }
    } catch {
      unknown += 1
    }
  }

  private var sorted: [(mark: SchemaMark, count: Count)] {
    counts.sorted { ($0.key.name, $0.key.version) < ($1.key.name, $1.key.version) }.map { ($0.key, $0.value) }
  }

  var lines: [String] {
    func line(_ what: String, _ count: Count) -> String {
      let kept = count.kept > 0 ? ", \(counted(count.kept, "kept old form"))" : ""
      return "\(what): \(counted(count.values, "value"))\(kept)"
    }
    var lines = sorted.map { line("\($0.mark.name.oneLine()) version \($0.mark.version)", $0.count) }
    if unmarked.values + unmarked.kept > 0 { lines.append(line("without a version", unmarked)) }
    if unknown > 0 { lines.append("with an unknown mark: \(counted(unknown, "value"))") }
    return lines.isEmpty ? ["The store has no values."] : lines
  }

  func json(_ store: String) -> JSON {
    .object([
      ("store", .text(store)),
      (
        "versions",
        .list(
          sorted.map { mark, count in
            .object([
              ("schema", .text(mark.name)), ("version", .number(mark.version)), ("values", .number(count.values)),
              ("kept", .number(count.kept)),
            ])
          })
      ), ("unmarked", .number(unmarked.values)), ("unmarkedKept", .number(unmarked.kept)),
      ("unknown", .number(unknown)),
    ])
  }
}
