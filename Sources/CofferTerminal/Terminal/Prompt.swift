import Dispatch
import Foundation

/// Prints a question on standard error, reads the answer from standard input and returns whether it was yes.
///
/// ```swift
/// guard try await confirm("Remove 3 notes?", otherwise: "nothing was removed") else {
///   throw CommandError(.failure, "notConfirmed", "Nothing was removed.")
/// }
/// ```
///
/// `y` and `yes`, in upper or lower case, mean yes; every other answer means no. Call it only if ``Input/isTerminal``
/// is true. After an interruption, a thread still waits for standard input and consumes its next line, so the program
/// should exit.
///
/// - Parameters:
///   - question: the question, to which ` [y/N] ` is appended.
///   - otherwise: the state after an interruption, as a lower-case clause: `nothing was removed`.
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

/// Reads a line from standard input; `nil` at the end of the input or on SIGINT or SIGTERM.
private func answer() async -> String? {
  let (lines, continuation) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .bufferingOldest(1))
  let signals = Signals([SIGINT, SIGTERM]) { continuation.yield(nil) }
  // `readLine` may block for ever, so it runs on a separate thread that is never joined.
  let thread = Thread { continuation.yield(readLine()) }
  thread.start()
  defer { withExtendedLifetime(signals) {} }
  for await line in lines { return line }
  return nil
}
