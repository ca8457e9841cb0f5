import CofferTestSupport
import CofferTesting
import Foundation

/// An X server without a screen.
final class Display {
  static let program = ["/usr/bin/Xvfb", "/usr/local/bin/Xvfb"].first(where: FileManager.default.isExecutableFile)
  static let isInstalled = program != nil

  let name: String
  private let process = Process()

  init() throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: Self.program ?? "")
    process.arguments = ["-displayfd", "1", "-screen", "0", "320x200x8", "-nolisten", "tcp"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.runUnblocked()
    try? output.fileHandleForWriting.close()
    var wait = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, 20_000) > 0 else {
      process.terminate()
      throw TestFailure("Xvfb does not start")
    }
    let number = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    name = ":" + number.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

/// A socket that accepts connections and never sends anything.
final class ListeningSocket {
  let path: String
  private let descriptor: CInt

  init(_ path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(100))) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard bound, listen(descriptor, 5) == 0 else { throw TestFailure("cannot listen at \(path): errno \(errno)") }
  }

  deinit { close(descriptor) }
}
