import BenchValgrind
import CofferPostgreSQLBench
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  if arguments.first == "perform" {
    try await performOperations(in: URL(fileURLWithPath: arguments[1]), server: arguments.dropFirst(2).first)
  } else {
    guard arguments.count >= 2, arguments[2...].allSatisfy({ $0 == "--record" }) else {
      throw Failure("usage: ./run counts [--record]")
    }
    let isRecorded = arguments.count > 2
    try compare(try await count(in: URL(fileURLWithPath: arguments[0]), command: arguments[1]), isRecorded)
  }
} catch {
  FileHandle.standardError.write(Data("error: \(error)\n".utf8))
  exit(1)
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Runs this program and `coffer get` under valgrind. A PostgreSQL server is started before, outside of it.
func count(in directory: URL, command: String) async throws -> Counts {
  let server = BenchServer.obstacle == nil ? try await BenchServer() : nil
  let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  let location = server.map { [$0.location("counts")] } ?? []
  try await callgrind("operations", [own, "perform", directory.path] + location, in: directory)
  let store = directory.appendingPathComponent(commandStore).path
  try await callgrind("get", [command, "get", "key", "--store", store], in: directory)
  return try Counts(writtenTo: directory)
}

/// Runs a program with counting, whose results begin with `name`. The directory holds what is preloaded.
func callgrind(_ name: String, _ program: [String], in directory: URL) async throws {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  let output = directory.appendingPathComponent(name).path
  process.arguments =
    ["LD_PRELOAD=\(directory.path)/sigsuspend.so", "valgrind", "-q", "--tool=callgrind", "--fair-sched=yes"]
    + ["--collect-systime=yes", "--callgrind-out-file=\(output)"] + program
  process.standardOutput = FileHandle.nullDevice
  let status = try await withCheckedThrowingContinuation { continuation in
    process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
    do { try process.run() } catch { continuation.resume(throwing: error) }
  }
  guard status == 0 else { throw Failure("under valgrind, \(program.joined(separator: " ")) ended with \(status).") }
}

/// Compares with the recorded counts, or replaces these.
func compare(_ counts: Counts, _ isRecorded: Bool) throws {
  counts.printTable()
  let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("counts.json")
  let recorded = try Counts(recordedIn: file)
  if isRecorded {
    try counts.record(in: file, with: recorded)
    print("\nWritten to Benchmarks/counts.json")
    return
  }
  let (heavier, lighter) = counts.compared(with: recorded)
  for sentence in lighter { print("lighter: \(sentence) Record it: ./run counts --record") }
  for sentence in heavier { print("heavier: \(sentence) If that is intended: ./run counts --record") }
  guard heavier.isEmpty else { exit(1) }
  print("no operation is heavier than recorded")
}
