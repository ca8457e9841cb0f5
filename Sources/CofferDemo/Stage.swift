import Coffer
import CofferTerminal
import Foundation

/// The environment of the acts: the folder of the stores, the products to store, and the results of the checks.
final class Stage {
  let folder: URL
  let style = Output.standard.style
  let products = (0..<1_000).map(Product.init)
  private(set) var passed = 0
  private(set) var failed = 0
  private var acts = 0

  init(_ folder: URL) { self.folder = folder }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  func line(_ text: String) throws { try printLine(text) }

  /// Prints a sentence, wrapped between words and indented.
  func say(_ text: String) throws {
    try line("   " + text.wrapped(to: 76).replacing("\n", with: "\n   "))
  }

  /// Performs one act. An act that throws counts as a failed check and does not prevent the following ones.
  func play(_ heading: String, _ body: (Stage) async throws -> Void) async throws {
    acts += 1
    try line("\n" + style.bold("\(acts). \(heading)"))
    do {
      try await body(self)
    } catch let error as OutputClosed {
      throw error
    } catch {
      try check(false, 0, "acts completed: \(error)")
    }
  }

  /// Counts and prints the result of a check. A failed check makes the exit code 1.
  func check(_ isPassed: Bool, _ count: Int, _ what: String) throws {
    if isPassed { passed += 1 } else { failed += 1 }
    let verdict = isPassed ? style.green("ok    ") : style.red("FAILED")
    try line("   \(verdict)  \(grouped(count).paddedLeft(to: 6))  \(what)")
  }

  /// Opens the database of products, calls `body`, and closes it.
  func withDatabase(
    _ configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration(),
    _ body: (SQLiteEngine) async throws -> Void
  ) async throws {
    try await closing(try await SQLiteEngine.open(at: path("shop.db"), configuration: configuration), after: body)
  }
}

/// Calls `body` with an engine, and closes the engine even when `body` throws.
func closing<Engine: StorageEngine>(_ engine: Engine, after body: (Engine) async throws -> Void) async throws {
  do {
    try await body(engine)
  } catch {
    try? await engine.close()  // The first error is the one to report.
    throw error
  }
  try await engine.close()
}

/// Runs a shell command in a directory and returns its output, without line ends around it.
func shell(_ command: String, in directory: URL) throws -> String {
  let (process, output) = (Process(), Pipe())
  process.executableURL = URL(fileURLWithPath: "/bin/sh")
  process.arguments = ["-c", command]
  process.currentDirectoryURL = directory
  process.standardOutput = output
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw DemoError("'\(command)' failed") }
  return text.trimmingCharacters(in: .whitespacesAndNewlines)
}

/// An unexpected condition that ends an act.
struct DemoError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Returns a duration in a fitting unit: 850 µs, 12.3 ms, 4.56 s.
func text(_ duration: Duration) -> String {
  let seconds: Double = duration / .seconds(1)
  return switch seconds {
  case ..<0.001: String(format: "%.0f µs", seconds * 1_000_000)
  case ..<1: String(format: "%.1f ms", seconds * 1_000)
  default: String(format: "%.2f s", seconds)
  }
}
