import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// Passphrases that are typed at a pseudo-terminal.
@Suite(.serialized)
struct TerminalPassphraseTests {
  private let terminal: PseudoTerminal
  private let interruptions = Locked<[Bool]>([])

  init() throws { terminal = try PseudoTerminal() }

  /// Reads the passphrase on a new thread, since that blocks until the test types.
  private func ask(prompt: String = "Passphrase: ", confirming: Bool = false) -> Task<Result<String, any Error>, Never>
  {
    let (terminal, interruptions) = (terminal, interruptions)
    let device = PromptDevice(
      path: terminal.path, interrupt: { interruptions.withLock { $0.append(terminal.modes.echo) } })
    // Start immediately: the test blocks a thread of the shared pool while it waits for the terminal.
    let (results, asking) = AsyncStream.makeStream(of: Result<String, any Error>.self)
    Thread.detachNewThread {
      let source = PassphraseSource.terminal(prompt: prompt, at: device)
      asking.yield(
        Result { try source.read(confirming: confirming).withUnsafeBytes { String(decoding: $0, as: UTF8.self) } })
      asking.finish()
    }
    return Task {
      for await result in results { return result }
      return .failure(CancellationError())
    }
  }

  private func code(_ answer: Result<String, any Error>) -> StorageError.Code? {
    guard case .failure(let error) = answer else { return nil }
    return (error as? StorageError)?.code
  }

  @Test func notShown() async throws {
    let before = terminal.settings
    let answer = ask()
    #expect(try terminal.shown(upTo: ": ") == "Passphrase: ")
    #expect(!terminal.modes.echo)
    terminal.type("sesame\n")
    #expect(try terminal.shown(upTo: "\n") == "\r\n")
    #expect(try await answer.value.get() == "sesame")
    #expect(terminal.modes.echo && terminal.modes.signals)
    let after = terminal.settings
    #expect(withUnsafeBytes(of: before) { Data($0) } == withUnsafeBytes(of: after) { Data($0) })
  }

  @Test func noTerminal() throws {
    let source = PassphraseSource.terminal(at: PromptDevice(path: "/nowhere", interrupt: {}))
    let error = try #require(throws: StorageError.self) { try source.read() }
    #expect(error.code == .unavailable)
    #expect(error.description.contains("No passphrase could be read from the terminal: there is no terminal"))
  }

  @Test func askedTwice() async throws {
    let answer = ask(confirming: true)
    _ = try terminal.shown(upTo: ": ")
    terminal.type("sesame\r")
    #expect(try terminal.shown(upTo: ": ") == "\r\nRepeat the passphrase: ")
    #expect(!terminal.modes.echo)
    terminal.type("sesame\r")
    #expect(try await answer.value.get() == "sesame")
  }

  @Test func aSlipIsNoticed() async throws {
    let answer = ask(confirming: true)
    _ = try terminal.shown(upTo: ": ")
    terminal.type("sesame\n")
    _ = try terminal.shown(upTo: ": ")
    terminal.type("sesamo\n")
    #expect(code(await answer.value) == .invalidPassphrase)
    #expect(terminal.modes.echo)
  }

  @Test func controlCInterruptsWithTheTerminalAsBefore() async throws {
    let answer = ask()
    _ = try terminal.shown(upTo: ": ")
    #expect(!terminal.modes.signals)
    terminal.type("sesa\u{3}")
    #expect(code(await answer.value) == .unavailable)
    #expect(interruptions.withLock { $0 } == [true])
    #expect(terminal.modes.echo && terminal.modes.signals)
  }

  @Test func endWithoutALine() async throws {
    let answer = ask()
    _ = try terminal.shown(upTo: ": ")
    terminal.type("\u{4}")
    #expect(code(await answer.value) == .invalidPassphrase)
    #expect(terminal.modes.echo)
  }

  @Test func linesTooLongForATerminal() async throws {
    let answer = ask()
    _ = try terminal.shown(upTo: ": ")
    terminal.type(String(repeating: "x", count: 4200) + "\n")
    #expect(code(await answer.value) == .invalidPassphrase)
    #expect(terminal.modes.echo)
  }

  @Test func correctedLinesAndPromptsWithTricks() async throws {
    let answer = ask(prompt: "\u{1B}[2JShop: ")
    #expect(try terminal.shown(upTo: "Shop: ") == "\\u{1B}[2JShop: ")
    terminal.type("sesamo\u{7F}e\n")
    #expect(try await answer.value.get() == "sesame")
  }
}
