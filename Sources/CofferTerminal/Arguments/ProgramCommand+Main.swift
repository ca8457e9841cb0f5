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
  /// An error is printed on standard error, after the program's name, in one or two sentences; with `--json` on the
  /// command line, as `{"error": {"code": ..., "message": ..., "advice": ...}}`. ``Program/explanation`` or
  /// ``CommandError/init(_:)`` converts the error to a ``CommandError``, which determines the exit status.
  /// ``OutputClosed`` is not reported: the status is ``ExitStatus/ok``.
  ///
  /// From then on the process ignores `SIGPIPE` and `SIGXFSZ`. Closed standard streams are opened on `/dev/null`, so
  /// that no other file is assigned their descriptors.
  ///
  /// The arguments `help --man` print the ``ManualPage``.
  ///
  /// - Parameter perform: performs the command of an invocation and returns the status to exit with.
  public static func main(_ perform: (Invocation<Self>) async throws -> ExitStatus) async -> Never {
    signal(SIGPIPE, SIG_IGN)  // `write` reports a closed pipe as EPIPE instead of the signal ending the process.
    signal(SIGXFSZ, SIG_IGN)  // And a file beyond the limit of the process (`ulimit -f`) as EFBIG.
    keepStandardStreams()
    exit(await run(Argument.ofThisProcess(), perform).rawValue)
  }

  /// Opens closed standard streams (`>&-`) on `/dev/null`. Otherwise a file opened later would receive their output.
  private static func keepStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // It takes the lowest free descriptor; writing to it must fail.
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
      if arguments == [Argument(help.rawValue), Argument("--man")] { return try printManual() }
      return try await perform(Invocation(parsing: arguments))
    } catch is OutputClosed {
      return .ok
    } catch {
      let error = program.explanation(error) ?? CommandError(error)
      report(error, asJSON: arguments.prefix { $0 != Argument("--") }.contains(Argument(Option.json.name)))
      return error.status
    }
  }

  /// Prints the manual page, for packages. It is no option, since nobody else needs it.
  private static func printManual() throws -> ExitStatus {
    let output = Output.standard
    try output.write(ManualPage<Self>(environment: { getenv($0).map { String(cString: $0) } }).source)
    try output.flush()
    return .ok
  }

  /// Prints an error on standard error, as one line that is wrapped to the terminal.
  private static func report(_ error: CommandError, asJSON: Bool) {
    let output = Output.error
    // If standard error is closed, only the exit status reports the error.
    if asJSON {
      try? output.writeLine(error.json(program.subjects).line)
      try? output.flush()
    } else {
      try? output.note(error.text.oneLine(), after: "\(program.name):")
    }
  }
}
