import CofferTesting
import Foundation
import Testing

/// Runs a script with bash and returns the lines of its output. The script is killed after a minute. No thread of the
/// cooperative pool is blocked.
func bash(_ script: String, in folder: URL) async throws -> [String] {
  let output = folder.appendingPathComponent(UUID().uuidString)
  try Data().write(to: output)
  let handle = try FileHandle(forWritingTo: output)
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/bash")
  process.arguments = ["-c", script]
  process.currentDirectoryURL = folder
  process.environment = ["PATH": folder.path + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = handle
  process.standardError = handle
  let (ends, end) = AsyncStream.makeStream(of: Int32.self)
  process.terminationHandler = {
    end.yield($0.terminationStatus)
    end.finish()
  }
  try process.runUnblocked()
  try handle.close()
  let identifier = process.processIdentifier
  DispatchQueue.global().asyncAfter(deadline: .now() + 60) {
    if process.isRunning { kill(identifier, SIGKILL) }
  }
  var status: Int32 = -1
  for await code in ends { status = code }
  let text = try String(contentsOf: output, encoding: .utf8)
  try #require(status == 0, "\(text)")
  return text.split(separator: "\n").map(String.init)
}
