import CofferTerminal

/// `coffer`: a store from the command line. Its ``Command``s say what it does, and so does `docs/cli.md`.
@main
enum CofferCommand {
  static func main() async { await Command.main(run) }

  /// Performs a command of this process.
  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    switch invocation.command {
    case .set: try await setValue(invocation)
    case .get: try await getValue(invocation)
    case .rm: try await removeKeys(invocation)
    case .ls: try await listKeys(invocation)
    case .cp: try await copyStore(invocation)
    case .backup: try await backUpStore(invocation)
    case .restore: try await restoreStore(invocation)
    case .watch: try await watchStore(invocation)
    case .info: try await describeStore(invocation)
    case .verify: try await verifyStore(invocation)
    case .audit: try await auditKeys(invocation)
    case .doctor: try await examine(invocation)
    case .completions: try invocation.printCompletions()
    case .help: try invocation.explain()
    case .version: try invocation.printVersion()
    }
  }
}
