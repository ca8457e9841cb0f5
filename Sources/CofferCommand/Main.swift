import CofferPostgreSQL
import CofferTerminal

/// `coffer`, the command line of a store. ``Command`` lists what it does; `docs/cli.md` is its manual.
@main
enum CofferCommand {
  static func main() async {
    PostgreSQLEngine.registerLocations(.ofCommand)
    await Command.main(run)
  }

  /// Runs one command and returns the status that the process exits with.
  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    switch invocation.command {
    case .set: try await setValue(invocation)
    case .get: try await getValue(invocation)
    case .rm: try await removeKeys(invocation)
    case .ls: try await listKeys(invocation)
    case .cp: try await copyStore(invocation)
    case .backup: try await backUpStore(invocation)
    case .restore: try await restoreStore(invocation)
    case .quarantine: try await manageQuarantine(invocation)
    case .watch: try await watchStore(invocation)
    case .info: try await describeStore(invocation)
    case .verify: try await verifyStore(invocation)
    case .audit: try await auditKeys(invocation)
    case .doctor: try await examine(invocation)
    case .importValues: try await importValues(invocation)
    case .schema: try await listVersions(invocation)
    case .postgresql: try await administerPostgreSQL(invocation)
    case .encrypt: try await encryptStore(invocation)
    case .decrypt: try await decryptStore(invocation)
    case .rotate: try await rotateStore(invocation)
    case .rekey: try await changeKey(invocation)
    case .keys: try await listDataKeys(invocation)
    case .shred: try await shredStore(invocation)
    case .completions: try invocation.printCompletions()
    case .help: try invocation.explain()
    case .version: try invocation.printVersion()
    }
  }
}
