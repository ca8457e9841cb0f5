import CofferCore
package import Foundation

/// The input of a command: standard input or a file.
///
/// ```swift
/// guard Input.isTerminal else { throw Command.mistake("There is no terminal for a prompt: add --yes.", .remove) }
/// ```
public final class Input {
  private let descriptor: Int32
  private let name: String

  private init(_ descriptor: Int32, _ name: String) { (self.descriptor, self.name) = (descriptor, name) }

  deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

  /// Whether standard input is a terminal, so that a prompt can be answered.
  public static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Whether standard input is connected to a source of data: a pipe, a socket or a file.
  package static var isConnected: Bool {
    var status = stat()
    guard fstat(STDIN_FILENO, &status) == 0 else { return false }
    return [S_IFIFO, S_IFSOCK, S_IFREG].contains(status.st_mode & S_IFMT)
  }

  /// Whether a path, such as `/dev/stdin`, is that of the same pipe or socket, of which each byte is read once.
  package func isSamePipe(as path: String) -> Bool {
    var (mine, its) = (stat(), stat())
    guard fstat(descriptor, &mine) == 0, stat(path, &its) == 0 else { return false }
    return [S_IFIFO, S_IFSOCK].contains(mine.st_mode & S_IFMT) && mine.st_dev == its.st_dev && mine.st_ino == its.st_ino
  }

  /// The standard input of the process.
  package static var standard: Input { Input(STDIN_FILENO, "Standard input") }

  /// Opens a file, which is closed with the last reference to it.
  ///
  /// - Throws: ``CommandError`` with ``ExitStatus/failure`` if it cannot be opened.
  package static func file(_ path: String) throws -> Input {
    let name = "The file '\(path.oneLine())'"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(name, errno) }
    return Input(descriptor, name)
  }

  /// Reads the remaining input, which may have at most `limit` bytes.
  ///
  /// - Throws: ``CommandError`` with ``ExitStatus/failure`` if there is more, or if reading fails.
  package func read(limit: Int) throws -> Data {
    guard (size ?? 0) <= limit else { throw tooLarge(limit) }
    var data = Data()
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = chunk.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 { return data }
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.failure(name, errno)
      }
      data.append(contentsOf: chunk[..<count])
      guard data.count <= limit else { throw tooLarge(limit) }
    }
  }

  /// The number of unread bytes of a regular file; `nil` for other kinds of input.
  private var size: Int? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size) - Int(max(0, lseek(descriptor, 0, SEEK_CUR)))
  }

  private func tooLarge(_ limit: Int) -> CommandError {
    CommandError(
      .failure, StorageError.Code.valueTooLarge.description, "\(name) has more than \(grouped(limit)) bytes.",
      advice: "Split the value. Nothing was written.")
  }

  private static func failure(_ name: String, _ code: Int32) -> CommandError {
    CommandError(
      .failure, StorageError.Code.inputOutput.description,
      "\(name) could not be read: \(String(cString: strerror(code))).", advice: "Nothing was written.")
  }
}
