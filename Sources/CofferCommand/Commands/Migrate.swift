import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// Implements `coffer migrate`, which brings values to another version with external programs.
func migrateValues(_ invocation: Invocation) async throws -> ExitStatus {
  let prefix = try invocation.options[.prefix].map(invocation.makeKey)
  let (location, steps) = (try invocation.onlyLocation(), try invocation.values(.step).map(StepOption.init))
  guard !steps.isEmpty else { throw UsageError("'migrate' needs --step FROM:TO:COMMAND.", .migrate) }
  let limit = try invocation.stepLimit()
  return try await withStore(at: location, KeySources(invocation)) { engine in
    let command = MigrateCommand(invocation: invocation, engine: engine, prefix: prefix)
    let name = try await command.schemaName()
    let store = try await command.store(name, steps, within: limit)
    return try await command.follow(store.migration(isDryRun: invocation.has(.dryRun)))
  }
}

/// A step as the command line gives it: `FROM:TO:COMMAND`.
private struct StepOption: Sendable {
  let source, target: Int
  let command: String

  init(_ text: String) throws {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let source = Int(parts[0]), let target = Int(parts[1]), !parts[2].isEmpty else {
      throw UsageError("--step takes FROM:TO:COMMAND, such as 1:2:./convert.", .migrate)
    }
    (self.source, self.target, command) = (source, target, String(parts[2]))
  }
}

extension Invocation {
  fileprivate func stepLimit() throws -> Duration {
    guard let text = options[.limit] else { return .seconds(30) }
    guard let seconds = Int(text), 1...86_400 ~= seconds else {
      throw UsageError("--limit takes a number of seconds from 1 to 86400.", .migrate)
    }
    return .seconds(seconds)
  }
}

private struct MigrateCommand: Sendable {
  let invocation: Invocation
  let engine: any StorageEngine
  let prefix: KeyName?

  /// Returns the name of the schema: the given one, or the only one of the values.
  func schemaName() async throws -> String {
    if let name = invocation.options[.schemaName] { return name }
    let names = Set(try await StoredVersions(engine, prefix: prefix).counts.keys.map(\.name)).sorted()
    if let name = names.first, names.count == 1 { return name }
    let found = names.isEmpty ? "no value has one" : "there are " + names.map { $0.oneLine() }.joined(separator: ", ")
    throw UsageError("Name the schema with --schema NAME: \(found).", .migrate)
  }

  /// Returns a store whose schema has all values of a name and, under a prefix, also those without a mark.
  func store(_ name: String, _ options: [StepOption], within limit: Duration) async throws -> TypedStore {
    let size = engine.capabilities.maximumValueSize
    let steps = options.map { option in
      MigrationStep(from: option.source, to: option.target, within: limit) { (old: Data) in
        try await StepProgram(command: option.command, limit: size).run(old)
      }
    }
    let takesUnmarked = prefix != nil && invocation.options[.schemaName] != nil
    do {
      // The version that no step leads away from.
      let ends = Set(options.map(\.target)).subtracting(options.map(\.source))
      guard let version = ends.first, ends.count == 1 else {
        throw UsageError("The steps must lead to one version.", .migrate)
      }
      let schema = try ValueSchema<Data>(name, version: version, steps: steps)
      var schemas = StoreSchema()
      for summary in try await engine.summaries(prefix: prefix) {
        let mark: SchemaMark?
        do { mark = try SchemaMark(in: summary.attributes) } catch { continue }
        guard mark.map({ $0.name == name }) ?? takesUnmarked else { continue }
        try schemas.declare(summary.key, schema)
      }
      return try TypedStore(engine: engine, schema: schemas)
    } catch let error as StorageError where error.code == .invalidSchema {
      throw UsageError(error.message, .migrate)
    }
  }

  func follow(_ run: SchemaMigration) async throws -> ExitStatus {
    let following = Following(
      label: invocation.has(.dryRun) ? "Checking" : "Migrating",
      advice: "Every value has its old or its new form. Run the same command again to continue.",
      store: engine.description)
    let (report, elapsed) = try await following.end(of: run)
    try tell(report, elapsed)
    return report.isComplete ? .ok : .failure
  }

  private func tell(_ report: SchemaMigration.Report, _ elapsed: Duration) throws {
    if invocation.has(.json) { return try print(report.json(engine.description, isDryRun: invocation.has(.dryRun))) }
    for failure in report.failures {
      try? Output.error.note("'\(failure.key.string.oneLine())': \(failure.error.message)", after: "coffer:")
    }
    var text =
      invocation.has(.dryRun)
      ? "It would migrate \(counted(report.migrated, "value"))"
      : "Migrated \(counted(report.migrated, "value")) in \(seconds(elapsed))"
    for (count, what) in [(report.current, "current"), (report.newer, "newer"), (report.failed, "failed")]
    where count > 0 {
      text += ", \(grouped(count)) \(what)"
    }
    try? Output.error.note(text + ".")
  }
}

extension SchemaMigration: FollowedRun {
  static func progress(of state: SchemaMigration.State) -> FollowedProgress {
    FollowedProgress(completed: state.completed, total: state.total)
  }
}

extension JSON {
  fileprivate static func failure(_ key: KeyName, _ error: StorageError) -> JSON {
    .object([
      ("key", .text(key.string)), ("code", .text(error.code.description)), ("message", .text(error.message)),
    ])
  }
}

extension SchemaMigration.Report {
  fileprivate func json(_ store: String, isDryRun: Bool) -> JSON {
    .object([
      ("store", .text(store)), ("dryRun", .flag(isDryRun)), ("migrated", .number(migrated)),
      ("current", .number(current)), ("newer", .number(newer)), ("failed", .number(failed)),
      ("failures", .list(failures.map { JSON.failure($0.key, $0.error) })),
    ])
  }
}
