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
  /// Output to a pipe that its reader has closed is not reported: the status is ``ExitStatus/ok``.
  ///
  /// From then on the process ignores `SIGPIPE` and `SIGXFSZ`. Closed standard streams are opened on `/dev/null`, so
  /// that no other file is assigned their descriptors.
  ///
  /// - Parameter perform: performs the command of an invocation and returns the status to exit with.
  public static func main(_ perform: (Invocation<Self>) async throws -> ExitStatus) async -> Never {
    signal(SIGPIPE, SIG_IGN)  // `write` reports a closed pipe as EPIPE instead of the signal ending the process.
    signal(SIGXFSZ, SIG_IGN)  // And a file beyond the limit of the process (`ulimit -f`) as EFBIG.
    keepStandardStreams()
    exit(await run(arguments(), perform).rawValue)
  }

  /// Opens closed standard streams (`>&-`) on `/dev/null`. Otherwise a file opened later would receive their output.
  private static func keepStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // It takes the lowest free descriptor; writing to it must fail.
    }
  }

  /// Returns the bytes of the arguments of this process, without its name.
  private static func arguments() -> [[UInt8]] {
    (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
      CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
  }

  private static func run(
    _ arguments: [[UInt8]], _ perform: (Invocation<Self>) async throws -> ExitStatus
  ) async -> ExitStatus {
    do {
      guard !arguments.isEmpty || program.defaultCommand != nil else {
        let output = Output.error
        try output.write(Help<Self>(style: output.style).overview)
        try output.flush()
        return .usage
      }
      return try await perform(Invocation(parsingBytes: arguments))
    } catch is OutputClosed {
      return .ok
    } catch {
      let error = program.explanation(error) ?? CommandError(error)
      report(error, asJSON: arguments.prefix { $0 != Array("--".utf8) }.contains(Array(Option.json.name.utf8)))
      return error.status
    }
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
