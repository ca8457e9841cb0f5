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
  private(set) var counts: [SchemaMark: Int] = [:]
  /// The number of values without a mark.
  private(set) var unmarked = 0
  /// The number of values whose mark has an unknown form.
  private(set) var unknown = 0

  init(_ engine: any StorageEngine, prefix: KeyName?) async throws {
    for summary in try await engine.summaries(prefix: prefix) {
      do {
        if let mark = try SchemaMark(in: summary.attributes) { counts[mark, default: 0] += 1 } else { unmarked += 1 }
      } catch {
        unknown += 1
      }
    }
  }

  private var sorted: [(mark: SchemaMark, count: Int)] {
    counts.sorted { ($0.key.name, $0.key.version) < ($1.key.name, $1.key.version) }.map { ($0.key, $0.value) }
  }

  var lines: [String] {
    func line(_ what: String, _ count: Int) -> String { "\(what): \(counted(count, "value"))" }
    var lines = sorted.map { line("\($0.mark.name.oneLine()) version \($0.mark.version)", $0.count) }
    if unmarked > 0 { lines.append(line("without a version", unmarked)) }
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
              ("schema", .text(mark.name)), ("version", .number(mark.version)), ("values", .number(count)),
            ])
          })
      ), ("unmarked", .number(unmarked)),
      ("unknown", .number(unknown)),
    ])
  }
}
