import Foundation

extension ProgramCommand {
  /// Runs the process: parses its arguments, performs the command, reports an error, and exits with a status.
  ///
  /// ```swift
  /// @main
  /// enum Notes {
  ///   static func main() async { await Command.main(run) }
  ///
  ///   private static func run(_ invocation: Invocation<Command>) async throws -> ExitStatus {
  ///     switch invocation.command {
  ///     case .add: try add(invocation)
  ///     case .list: try await list(invocation)
  ///     case .completions: try invocation.printCompletions()
  ///     case .help: try invocation.explain()
  ///     case .version: try invocation.printVersion()
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// An error is printed on standard error, after the program's name, in one sentence or two; with `--json` on the
  /// command line as `{"error": {"code": ..., "message": ..., "advice": ...}}`. Its status is that of the
  /// ``CommandError`` that ``Program/explanation`` or ``CommandError/init(_:)`` makes of it. ``OutputClosed`` is no
  /// error: the status is ``ExitStatus/ok``.
  ///
  /// The process ignores `SIGPIPE` from then on. Standard streams that are closed are opened on `/dev/null`, so that no
  /// other file gets their numbers.
  ///
  /// - Parameter perform: performs the command of an invocation and returns the status to exit with.
  public static func main(_ perform: (Invocation<Self>) async throws -> ExitStatus) async -> Never {
    signal(SIGPIPE, SIG_IGN)  // A reader who leaves is an error of `write`, which is quieter.
    keepStandardStreams()
    exit(await run(Argument.ofThisProcess(), perform).rawValue)
  }

  /// Where a standard stream was closed (`>&-`), the files that are opened would take its number and get what we print.
  private static func keepStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // It takes the lowest free number; writing to it fails, as it should.
    }
  }

  private static func run(
    _ arguments: [Argument], _ perform: (Invocation<Self>) async throws -> ExitStatus
  ) async -> ExitStatus {
    do {
      guard !arguments.isEmpty || program.defaultCommand != nil else {
        let output = Output.error
        try output.write(Help<Self>(style: output.style).overview)
        try output.flush()
        return .usage
      }
      return try await perform(Invocation(parsing: arguments))
    } catch is OutputClosed {
      return .ok
    } catch {
      let error = program.explanation(error) ?? CommandError(error)
      report(error, asJSON: arguments.prefix { $0 != Argument("--") }.contains(Argument(Option.json.name)))
      return error.status
    }
  }

  /// Says on standard error, in one line that a terminal may wrap, why the command ends.
  private static func report(_ error: CommandError, asJSON: Bool) {
    let output = Output.error
    // Where standard error is closed, the status has to do.
    if asJSON {
      try? output.writeLine(error.json(program.subjects).line)
      try? output.flush()
    } else {
      try? output.note(error.text.oneLine(), after: "\(program.name):")
    }
  }
}
