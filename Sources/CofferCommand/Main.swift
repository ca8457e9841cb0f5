import Coffer
import Foundation

/// `coffer`: a store from the command line. ``ExitStatus`` says how it ends, `docs/cli.md` what it does.
@main
enum CofferCommand {
  static let version = "0.1.0"

  static func main() async {
    signal(SIGPIPE, SIG_IGN)  // A reader who leaves is an error of `write`, which is quieter.
    keepStandardStreams()
    exit(await run(Argument.ofThisProcess()).rawValue)
  }

  /// Where a standard stream was closed (`>&-`), the store's files would take its number and get what we print.
  private static func keepStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // It takes the lowest free number; writing to it fails, as it should.
    }
  }

  private static func run(_ arguments: [Argument]) async -> ExitStatus {
    do {
      guard !arguments.isEmpty else {
        let output = Output.error
        try output.write(Help(style: output.style).overview)
        try output.flush()
        return .usage
      }
      return try await run(Invocation(parsing: arguments))
    } catch is OutputClosed {
      return .ok
    } catch {
      let error = CommandError(error)
      report(error, asJSON: arguments.prefix { $0 != Argument("--") }.contains(Argument(Option.json.name)))
      return error.status
    }
  }

  private static func run(_ invocation: Invocation) async throws -> ExitStatus {
    switch invocation.command {
    case .set: try await setValue(invocation)
    case .get: try await getValue(invocation)
    case .rm: try await removeKeys(invocation)
    case .ls: try await listKeys(invocation)
    case .cp: try await copyStore(invocation)
    case .watch: try await watchStore(invocation)
    case .info: try await describeStore(invocation)
    case .verify: try await verifyStore(invocation)
    case .audit: try await auditKeys(invocation)
    case .doctor: try await examine(invocation)
    case .completions: try printCompletions(invocation)
    case .help: try explain(invocation)
    case .version: try printVersion(invocation)
    }
  }

  /// Says on standard error, in one line that a terminal may wrap, why the command ends.
  private static func report(_ error: CommandError, asJSON: Bool) {
    let output = Output.error
    // Where standard error is closed, the status has to do.
    if asJSON {
      try? output.writeLine(error.json.line)
      try? output.flush()
    } else {
      try? output.note(error.text.oneLine(), after: "coffer:")
    }
  }
}
