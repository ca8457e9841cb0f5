import Dispatch
import Foundation

/// Asks on the terminal; whether the answer was yes.
///
/// - Parameter otherwise: what an interruption leaves: "nothing was removed".
package func confirm(_ question: String, otherwise: String) async throws -> Bool {
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
