package import CofferCore
import Foundation

extension PassphraseSource {
  /// The maximum size of a passphrase in bytes.
  package static let limit = 64 * 1024

  /// Reads the passphrase. Blocks the thread until the source provides it.
  ///
  /// - Parameter confirming: Whether an interactive source prompts twice, since a store with a mistyped passphrase
  ///   could never be opened.
  package func read(
    confirming: Bool = false, in surroundings: PassphraseSurroundings = .system
  ) throws -> SecretBytes {
    switch kind {
    case .file, .systemdCredential, .descriptor: try trimmed(contents(in: surroundings))
    case .asking(_, let ask): try ask(self, confirming)
    case .provided(_, let provide): try provided(by: provide)
    case .shared(let shared): try shared.passphrase(confirming: confirming, in: surroundings)
    }
  }

  /// Reads another secret of the program, such as an access token, as text. Blocks the thread until the source provides
  /// it.
  ///
  /// - Parameter name: what the source contains, for messages, such as `access token`.
  /// - Throws: The error of the source: `unavailable`, or `permissionDenied` for a file that other users can read or
  ///   change. `invalidPassphrase` if it is empty or larger than 64 KiB; `decodingFailed` for bytes that are not UTF-8.
  ///   No message contains the secret.
  public func text(named name: String) throws -> String {
    var source = self
    source.purpose = name
    let text = try source.read().withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let text else { throw source.problem(.decodingFailed, "it is not UTF-8 text.") }
    return text
  }

  /// Reads key material from a file, a credential or a descriptor, without removing a newline. Blocks the thread.
  ///
  /// - Throws: `permissionDenied` if other users can read or change the file; `invalidKeyMaterial` for more than
  ///   64 KiB.
  package func readKeyMaterial(in surroundings: PassphraseSurroundings = .system) throws -> SecretBytes {
    if case .shared(let shared) = kind { return try shared.keyMaterial(in: surroundings) }
    var source = self
    source.purpose = "key material"
    let (bytes, count) = try source.contents(in: surroundings)
    guard count <= Self.limit else {
      throw source.problem(.invalidKeyMaterial, "it is larger than 64 KiB.", "Check that it is the right source.")
    }
    return bytes.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
  }

  private func contents(in surroundings: PassphraseSurroundings) throws -> (SecretBytes, count: Int) {
    switch kind {
    case .file(let url):
      guard url.isFileURL else { throw problem(.unsupported, "it is not a file URL.") }
      return try contents(ofFile: url.path, isPrivate: !surroundings.passesCredential(url.path))
    case .systemdCredential(let name):
      let path = try credentialPath(name, in: surroundings.credentialsDirectory())
      return try contents(ofFile: path, isPrivate: false)
    case .descriptor(let descriptor):
      guard let number = descriptor.take() else {
        throw problem(.closed, "it has already been read.", "Pass a new descriptor.")
      }
      defer { release(number) }
      return try contents(of: number)
    case .asking, .provided, .shared: throw problem(.unsupported, "it provides only passphrases.")
    }
  }

  /// Returns the error for a source that provides no passphrase.
  package func problem(
    _ code: StorageError.Code, _ what: String, _ advice: String = "", underlying: StorageError.Underlying? = nil
  ) -> StorageError {
    StorageError(
      code, "No \(purpose) could be read from \(self): \(what)", advice: advice, underlying: underlying)
  }

  /// Returns the error for the current `errno` of a failed system call.
  private func systemProblem(_ call: String) -> StorageError {
    let number = errno
    let underlying = StorageError.Underlying(
      domain: "errno", code: Int(number), text: "\(call): \(String(cString: strerror(number)))")
    return switch number {
    case ENOENT, ENOTDIR:
      problem(.unavailable, "it does not exist.", "Check its name.", underlying: underlying)
    case EACCES, EPERM:
      problem(.permissionDenied, "permission denied.", "Let this user read it.", underlying: underlying)
    case EBADF: problem(.closed, "it is not open.", underlying: underlying)
    default: problem(.inputOutput, "it could not be read.", underlying: underlying)
    }
  }

  private func credentialPath(_ name: String, in directory: String?) throws -> String {
    let isPlain = !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
    guard isPlain, !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 < 0x20 }) else {
      throw problem(.unsupported, "the name of a credential must be a file name without a path.")
    }
    guard let directory, directory.hasPrefix("/") else {
      throw problem(
        .unavailable, "the variable CREDENTIALS_DIRECTORY is \(directory == nil ? "not set" : "not an absolute path").",
        "Start the program as a service of systemd, with LoadCredential=\(name) in its unit.")
    }
    return directory + "/" + name
  }

  private func contents(ofFile path: String, isPrivate: Bool) throws -> (SecretBytes, count: Int) {
    guard !path.utf8.contains(0) else { throw problem(.unavailable, "its path contains a NUL byte.") }
    var status = stat()
    // Check the type before opening, since opening a device can have side effects.
    guard stat(path, &status) == 0 else { throw systemProblem("stat") }
    try check(status.st_mode)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw systemProblem("open") }
    defer { close(descriptor) }
    if isPrivate { try checkPrivacy(of: descriptor) }
    return try contents(of: descriptor)
  }

  /// Throws if users other than the owner can read or replace a regular file, or if it belongs to another user.
  private func checkPrivacy(of descriptor: Int32) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw systemProblem("fstat") }
    guard status.st_mode & S_IFMT == S_IFREG else { return }
    guard status.st_mode & 0o066 == 0 else {
      let mode = String(status.st_mode & 0o7777, radix: 8)
      throw problem(
        .permissionDenied, "other users can read or change it (mode \(mode)).",
        "Take their permissions away (chmod 600), and replace what it contains if that was exposed.")
    }
    guard [0, status.st_uid].contains(geteuid()) || status.st_uid == 0 else {
      throw problem(.permissionDenied, "it belongs to another user.", "Copy it to a file of your own.")
    }
  }

  /// Throws unless the file may contain a passphrase: a terminal would echo it, and other devices have none.
  private func check(_ mode: mode_t) throws {
    switch mode & S_IFMT {
    case S_IFREG, S_IFIFO, S_IFSOCK: return
    case S_IFDIR: throw problem(.unsupported, "it is a directory.", "Give a file.")
    case S_IFCHR:
      throw problem(
        .unsupported, "it is a terminal or another device.",
        "Give a file or a pipe, or have the program prompt at the terminal.")
    default: throw problem(.unsupported, "it is not a file or a pipe.")
    }
  }

  /// Reads up to the end, but at most one byte more than the longest passphrase with its newline.
  private func contents(of descriptor: Int32) throws -> (SecretBytes, count: Int) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw systemProblem("fstat") }
    try check(status.st_mode)
    var count = 0
    let bytes = try SecretBytes(count: Self.limit + 3) { bytes in
      while count < bytes.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        let read = Foundation.read(descriptor, rest.baseAddress, rest.count)
        if read == 0 { return }
        if read > 0 { count += read }
        if read < 0 && errno == EAGAIN {
          // The descriptor was opened as non-blocking, but this function is meant to block.
          var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          _ = poll(&request, 1, -1)
        } else if read < 0 && errno != EINTR {
          throw systemProblem("read")
        }
      }
    }
    return (bytes, count)
  }

  private func provided(by provide: () throws -> Data) throws -> SecretBytes {
    do {
      let data = try provide()
      return try trimmed((SecretBytes(copying: data), data.count))
    } catch let error as StorageError {
      throw error
    } catch {
      // The text of the error could contain the passphrase; its type cannot.
      throw problem(
        .unavailable, "its closure threw an error.",
        underlying: .init(domain: String(reflecting: type(of: error)), code: (error as NSError).code, text: "no detail")
      )
    }
  }

  /// Returns the first `count` bytes without a trailing newline.
  package func trimmed(_ input: (bytes: SecretBytes, count: Int)) throws -> SecretBytes {
    try input.bytes.withUnsafeBytes { bytes in
      var line = bytes.prefix(input.count)
      if line.last == UInt8(ascii: "\n") {
        line = line.dropLast()
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      }
      guard !line.isEmpty else { throw problem(.invalidPassphrase, "it is empty.") }
      guard line.count <= Self.limit else {
        throw problem(.invalidPassphrase, "it is larger than 64 KiB.", "Check that it is the right source.")
      }
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line))
    }
  }
}

/// A file descriptor that can be taken once.
final class OneTimeDescriptor: Sendable {
  let number: Int32
  private let isTaken = Locked(false)

  init(_ number: Int32) { self.number = number }

  /// Returns the descriptor the first time, and `nil` afterwards.
  func take() -> Int32? {
    isTaken.withLock { isTaken in
      defer { isTaken = true }
      return isTaken ? nil : number
    }
  }
}

/// Closes a descriptor. A standard stream is replaced with `/dev/null`, since the next file opened would otherwise get
/// its number and thus the stream's output.
private func release(_ descriptor: Int32) {
  if (0...2).contains(descriptor) {
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    if nothing >= 0 {
      dup2(nothing, descriptor)
      close(nothing)
      return
    }
  }
  close(descriptor)
}
