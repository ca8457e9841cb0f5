#if os(Linux)
  import CofferCore
  public import Foundation

  /// A provider that runs a program for each request and reads the key material from its standard output.
  ///
  /// This attaches a key management service, a hardware token or a password manager by its own command.
  ///
  /// ```swift
  /// let service = ProcessKeyProvider("/usr/bin/gpg", ["--decrypt", "--batch", "--quiet", "/etc/shop/key.gpg"])
  /// let key = RootKeySource.provider(service, named: "shop", timeout: .seconds(10))
  /// ```
  ///
  /// The material crosses a pipe of these two processes, and is neither an argument nor a variable of the environment.
  /// The program finds the name of the material in the variable `COFFER_KEY_NAME`, has an empty standard input and the
  /// standard error of this process, and must end with status 0. When the deadline of the source passes or the task is
  /// cancelled, the program is killed; processes that it has started are its own responsibility.
  public struct ProcessKeyProvider: KeyMaterialProviding, Hashable {
    private let program: String
    private let arguments: [String]

    /// Creates a provider. Nothing is started yet.
    /// - Parameters:
    ///   - program: the absolute path of the program.
    ///   - arguments: its arguments. Other users can read them: never pass a secret.
    public init(_ program: String, _ arguments: [String] = []) {
      self.program = program
      self.arguments = arguments
    }

    /// Runs the program and returns its output.
    /// - Throws: `unavailable` if it cannot be started or fails, `invalidKeyMaterial` for more than 64 KiB.
    public func keyMaterial(for source: KeyMaterialSource) async throws -> Data {
      let child = ChildProcess()
      return try await withTaskCancellationHandler {
        try await runBlocking { try output(of: child, for: source) }
      } onCancel: {
        child.kill()
      }
    }

    private func output(of child: ChildProcess, for source: KeyMaterialSource) throws -> Data {
      guard program.hasPrefix("/"), !([program, source.id] + arguments).contains(where: { $0.utf8.contains(0) }) else {
        throw failure("cannot be started: its path is not absolute, or a name contains a NUL byte")
      }
      let result = child.start(program, arguments, variable: "COFFER_KEY_NAME", source.id)
      guard result == 0 else { throw failure("cannot be started", "errno", Int(result)) }
      defer { child.wait() }  // also when the output is refused: no process is left behind
      let output = try child.output(upTo: KeyMaterial.maximumCount)
      guard let output else {
        child.kill()
        throw StorageError(
          .invalidKeyMaterial, "The key program \(name) printed more than 64 KiB.", advice: "Mend the program.")
      }
      let status = child.wait()
      guard status == 0 else {
        throw failure(status > 0 ? "ended with status \(status)" : "was ended by signal \(-status)")
      }
      return output
    }

    private var name: String { "'\(program.escapingControlCharacters)'" }

    private func failure(_ what: String, _ domain: String = "", _ code: Int = 0) -> StorageError {
      StorageError(
        .unavailable, "The key program \(name) \(what).",
        advice: "Run it by hand to see why. The store was not opened and nothing was changed.",
        underlying: code == 0 ? nil : .init(domain: domain, code: code, text: String(cString: strerror(Int32(code)))))
    }
  }
#endif
