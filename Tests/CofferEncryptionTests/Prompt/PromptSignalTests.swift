import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A process that prompts at a real terminal, and signals from another process.
@Suite(.blocking, .serialized) struct PromptSignalTests {
  private let terminal: PseudoTerminal

  init() throws { terminal = try PseudoTerminal() }

  private func asking() throws -> HelperProcess {
    let helper = try HelperProcess(["prompt", terminal.path])
    #expect(try terminal.shown(upTo: ": ") == "Passphrase: ")
    #expect(!terminal.modes.echo)
    return helper
  }

  /// Waits until the helper has ended, and returns its status.
  private func end(of helper: HelperProcess) throws -> Int32 {
    try blockUntil("the process ends") { !helper.process.isRunning }
    return helper.wait()
  }

  private func send(_ signal: Int32, to helper: HelperProcess) { kill(helper.process.processIdentifier, signal) }

  @Test("The terminal is restored before a signal ends the process", arguments: [SIGINT, SIGTERM, SIGHUP])
  func ending(_ signal: Int32) async throws {
    let helper = try asking()
    send(signal, to: helper)
    #expect(try end(of: helper) == signal)
    #expect(helper.process.terminationReason == .uncaughtSignal)
    #expect(terminal.modes.echo && terminal.modes.signals)
  }

  /// Returns the state of the process: `T` if it is stopped.
  private func state(of helper: HelperProcess) throws -> Character? {
    let status = try String(contentsOfFile: "/proc/\(helper.process.processIdentifier)/stat", encoding: .utf8)
    return status.split(separator: ")").last?.first { $0 != " " }
  }

  @Test("A stopped prompt restores the terminal, and disables echo again when it continues")
  func stopped() async throws {
    let helper = try asking()
    for _ in 0..<3 {
      send(SIGTSTP, to: helper)
      try await eventually("the process stops") { try state(of: helper) == "T" }
      #expect(terminal.modes.echo && terminal.modes.signals)
      send(SIGCONT, to: helper)
      #expect(try terminal.shown(upTo: ": ").hasSuffix("Passphrase: "))
      try await eventually("echo is disabled again") { !terminal.modes.echo }
    }
    terminal.type("sesame\n")
    #expect(try helper.line() == "sesame")
    #expect(try end(of: helper) == 0)
    #expect(terminal.modes.echo && terminal.modes.signals)
    #expect(try terminal.shown(upTo: "\n") == "\r\n")
  }

  @Test("A prompt that was stopped by SIGSTOP disables echo again after a shell changed the terminal")
  func stoppedByForce() async throws {
    let helper = try asking()
    let muted = terminal.settings
    send(SIGSTOP, to: helper)
    try await eventually("the process stops") { try state(of: helper) == "T" }
    var settings = muted
    settings.c_lflag |= tcflag_t(ECHO | ISIG)
    terminal.set(settings)
    send(SIGCONT, to: helper)
    try await eventually("echo is disabled again") { !terminal.modes.echo }
    terminal.type("sesame\n")
    #expect(try helper.line() == "sesame")
    #expect(try end(of: helper) == 0)
  }
}
