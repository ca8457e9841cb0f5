package import CofferCore
import CofferLocks
import Foundation

extension PassphraseSource {
  /// The longest passphrase.
  package static let limit = 64 * 1024

  /// The passphrase. It blocks the thread until the source has given it.
  ///
  /// - Parameter confirming: Whether a person is asked twice, since nobody could open the store after a slip.
  package func read(
    confirming: Bool = false, in surroundings: PassphraseSurroundings = .system
  ) throws -> SecretBytes {
    switch kind {
    case .file(let url):
      guard url.isFileURL else { throw problem(.unsupported, "it is not a path of this machine.") }
      return try passphrase(inFile: url.path)
    case .systemdCredential(let name):
      return try passphrase(inFile: credentialPath(name, in: surroundings.credentialsDirectory()))
    case .descriptor(let descriptor):
      guard let number = descriptor.take() else {
        throw problem(.closed, "it was read before.", "Give the passphrase again.")
      }
      defer { release(number) }
      return try trimmed(contents(of: number))
    case .asking(_, let ask):
      return try ask(self, confirming)
    case .provided(let provide):
      return try provided(by: provide)
    }
  }

  /// What to say when the source gives no passphrase.
  package func problem(
    _ code: StorageError.Code, _ what: String, _ advice: String = "", underlying: StorageError.Underlying? = nil
  ) -> StorageError {
    StorageError(code, "There is no passphrase from \(self): \(what)", advice: advice, underlying: underlying)
  }

  /// Translates the present `errno` of a failed system call.
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
      throw problem(.unsupported, "a credential's name is the name of a file, without a path.")
    }
    guard let directory, directory.hasPrefix("/") else {
      throw problem(
        .unavailable, "the variable CREDENTIALS_DIRECTORY is \(directory == nil ? "not set" : "not an absolute path").",
        "Start the program as a service of systemd, with LoadCredential=\(name) in its unit.")
    }
    return directory + "/" + name
  }

  private func passphrase(inFile path: String) throws -> SecretBytes {
    guard !path.utf8.contains(0) else { throw problem(.unavailable, "its name has a NUL.") }
    var status = stat()
    // Looked at before it is opened: to open a device can make it do something.
    guard stat(path, &status) == 0 else { throw systemProblem("stat") }
    try check(status.st_mode)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw systemProblem("open") }
    defer { close(descriptor) }
    return try trimmed(contents(of: descriptor))
  }

  /// A terminal would show what is typed, and other devices hold no passphrases.
  private func check(_ mode: mode_t) throws {
    switch mode & S_IFMT {
    case S_IFREG, S_IFIFO, S_IFSOCK: return
    case S_IFDIR: throw problem(.unsupported, "it is a directory.", "Give a file.")
    case S_IFCHR:
      throw problem(
        .unsupported, "it is a terminal or another device.",
        "Give a file or a pipe, or have the program ask at the terminal.")
    default: throw problem(.unsupported, "it is not a file or a pipe.")
    }
  }

  /// Everything up to the end, but at most one byte more than a passphrase and its newline can have.
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
          // Whoever opened it wanted to be told instead of waiting; here, waiting is right.
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
      // Its text is somebody else's and could hold anything; its type cannot.
      throw problem(
        .unavailable, "its closure threw an error.",
        underlying: .init(domain: String(reflecting: type(of: error)), code: (error as NSError).code, text: "no detail")
      )
    }
  }

  /// The first `count` bytes without the newline at their end.
  package func trimmed(_ input: (bytes: SecretBytes, count: Int)) throws -> SecretBytes {
    try input.bytes.withUnsafeBytes { bytes in
      var line = bytes.prefix(input.count)
      if line.last == UInt8(ascii: "\n") {
        line = line.dropLast()
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      }
      guard !line.isEmpty else { throw problem(.invalidPassphrase, "it is empty.") }
      guard line.count <= Self.limit else {
        throw problem(.invalidPassphrase, "it has more than 64 KiB.", "Is it the right file?")
      }
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line))
    }
  }
}

/// The number of an open file, for whoever comes first.
final class OneTimeDescriptor: Sendable {
  let number: Int32
  private let isTaken = Locked(false)

  init(_ number: Int32) { self.number = number }

  /// The number, the first time.
  func take() -> Int32? {
    isTaken.withLock { isTaken in
      defer { isTaken = true }
      return isTaken ? nil : number
    }
  }
}

/// Closes it. In place of a standard stream it leaves the empty device: the next file that is opened would get its
/// number, and what is meant for the stream.
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
