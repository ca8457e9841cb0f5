import Dispatch
import Foundation

/// Asks a question on standard error and reads the answer from standard input: whether it was yes.
///
/// ```swift
/// guard try await confirm("Remove 3 notes?", otherwise: "nothing was removed") else {
///   throw CommandError(.failure, "notConfirmed", "Nothing was removed.")
/// }
/// ```
///
/// `y` and `yes` are yes, in any case; everything else is no. Ask only where ``Input/isTerminal`` is true. After an
/// interruption a thread still waits for standard input and takes its next line: end the program then.
///
/// - Parameters:
///   - question: the question, to which ` [y/N] ` is added.
///   - otherwise: what an interruption leaves, as a lower-case clause: `nothing was removed`.
/// - Throws: ``CommandError`` with ``ExitStatus/interrupted`` on Ctrl-C, SIGTERM or the end of the input, and what
///   ``Output`` throws.
public func confirm(_ question: String, otherwise: String) async throws -> Bool {
  let output = Output.error
  try output.write("\(question) [y/N] ")
  try output.flush()
  let answer = await answer()
  guard let answer else {
    try output.write("\n")
    try output.flush()
    throw CommandError(.interrupted, "interrupted", "Interrupted: \(otherwise).")
  }
  return ["y", "yes"].contains(answer.lowercased())
}

/// The line that somebody types; `nil` when they press Ctrl-C or Ctrl-D instead.
private func answer() async -> String? {
  let (lines, continuation) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .bufferingOldest(1))
  let signals = Signals([SIGINT, SIGTERM]) { continuation.yield(nil) }
  // A thread of its own waits: it may wait for ever, and nobody waits for it.
  let thread = Thread { continuation.yield(readLine()) }
  thread.start()
  defer { withExtendedLifetime(signals) {} }
  for await line in lines { return line }
  return nil
}
