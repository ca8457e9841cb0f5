import Coffer
import Foundation

/// Reads whole values, byte by byte.
enum Input {
  /// The largest value that any store takes.
  private static let limit = 1 << 30

  static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Whether somebody has connected standard input to something that has a value: a pipe, a socket or a file.
  static var isConnected: Bool {
    var status = stat()
    guard fstat(STDIN_FILENO, &status) == 0 else { return false }
    return [S_IFIFO, S_IFSOCK, S_IFREG].contains(status.st_mode & S_IFMT)
  }

  static func standard() throws -> Data { try read(STDIN_FILENO, from: "Standard input") }

  static func file(_ path: String) throws -> Data {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("The file", errno) }
    defer { close(descriptor) }
    return try read(descriptor, from: "The file")
  }

  private static func read(_ descriptor: Int32, from source: String) throws -> Data {
    var data = Data()
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = chunk.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 { return data }
      if count < 0 {
        if errno == EINTR { continue }
        throw failure(source, errno)
      }
      data.append(contentsOf: chunk[..<count])
      guard data.count <= limit else {
        throw CommandError(
          .failure, StorageError.Code.valueTooLarge.description, "\(source) has more than \(grouped(limit)) bytes.",
          advice: "Split the value. Nothing was written.")
      }
    }
  }

  private static func failure(_ source: String, _ code: Int32) -> CommandError {
    CommandError(
      .failure, StorageError.Code.inputOutput.description,
      "\(source) could not be read: \(String(cString: strerror(code))).", advice: "Nothing was written.")
  }
}
