import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// A shell command that converts the bytes of one value: old ones on standard input, new ones on standard output.
///
/// It runs in a process group of its own, which is killed when the task is cancelled or the output is too long.
struct StepProgram: Sendable {
  let command: String
  /// The largest number of bytes that the command may write.
  let limit: Int

  /// Runs the command.
  /// - Throws: ``StepRefusal`` with what the command wrote on standard error; `CancellationError`.
  func run(_ old: Data) async throws -> Data {
    let group = Locked<(id: pid_t, isCancelled: Bool)>((0, false))
    return try await withTaskCancellationHandler {
      try await runBlocking { try convert(old, group) }
    } onCancel: {
      group.withLock { group in
        group.isCancelled = true
        if group.id > 0 { kill(-group.id, SIGKILL) }
      }
    }
  }

  private func convert(_ old: Data, _ group: Locked<(id: pid_t, isCancelled: Bool)>) throws -> Data {
    let (input, output, errors) = (try Ends(), try Ends(), try Ends())
    defer { for ends in [input, output, errors] { ends.close() } }
    let pid = try group.withLock { group in
      guard !group.isCancelled else { throw CancellationError() }
      group.id = try start(input, output, errors)
      return group.id
    }
    var transfer = Transfer(old, limit: limit)
    let isComplete = transfer.run(input, output, errors)
    if !isComplete { kill(-pid, SIGKILL) }
    // The id stays valid until the process is reaped, which a cancellation must not see.
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    var status: Int32 = 0
    let isCancelled = group.withLock { group in
      kill(-pid, SIGKILL)  // what the command has left behind
      waitpid(pid, &status, 0)
      group.id = 0
      return group.isCancelled
    }
    if isCancelled { throw CancellationError() }
    guard isComplete else { throw StepRefusal("It wrote more than \(byteCount(limit)).") }
    guard status == 0 else {
      let text = String(decoding: transfer.errors, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      let signal = status & 0x7F
      let end = signal == 0 ? "It ended with status \((status >> 8) & 0xFF)" : "It was ended by signal \(signal)"
      throw StepRefusal(text.isEmpty ? end + "." : "\(end): \(text.oneLine())")
    }
    return transfer.output
  }

  private func start(_ input: Ends, _ output: Ends, _ errors: Ends) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, input.reading, 0)
    posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.writing, 2)
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var arguments: [UnsafeMutablePointer<CChar>?] =
      ["/bin/sh", "-c", command].map { (text: String) in strdup(text) } + [nil]
    var environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var pid = pid_t()
    let result = posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, &environment)
    guard result == 0 else { throw StepRefusal("It could not be started (errno \(result)).") }
    return pid
  }
}

/// The two ends of a pipe, of which the child has one.
private final class Ends {
  private(set) var reading: Int32 = -1
  private(set) var writing: Int32 = -1

  init() throws {
    var descriptors: [Int32] = [-1, -1]
    guard pipe(&descriptors) == 0 else { throw StepRefusal("It could not be started (errno \(errno)).") }
    for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (descriptors[0], descriptors[1])
  }

  func closeReading() {
    if reading >= 0 { _ = Foundation.close(reading) }
    reading = -1
  }

  func closeWriting() {
    if writing >= 0 { _ = Foundation.close(writing) }
    writing = -1
  }

  func close() {
    closeReading()
    closeWriting()
  }
}

/// The exchange of bytes with a child, which may read and write in any order.
private struct Transfer {
  private static let errorLimit = 2_000

  private var input: Data
  private let limit: Int
  private(set) var output = Data()
  private(set) var errors = Data()

  init(_ input: Data, limit: Int) { (self.input, self.limit) = (input, limit) }

  /// Returns at the end of both outputs; `false` if the output is too long.
  mutating func run(_ toChild: Ends, _ fromChild: Ends, _ errorsOfChild: Ends) -> Bool {
    toChild.closeReading()
    fromChild.closeWriting()
    errorsOfChild.closeWriting()
    _ = fcntl(toChild.writing, F_SETFL, O_NONBLOCK)
    if input.isEmpty { toChild.closeWriting() }
    while fromChild.reading >= 0 || errorsOfChild.reading >= 0 {
      var requests = [
        pollfd(fd: toChild.writing, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: fromChild.reading, events: Int16(POLLIN), revents: 0),
        pollfd(fd: errorsOfChild.reading, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&requests, 3, -1) > 0 else { continue }
      if requests[0].revents != 0 { write(toChild) }
      if requests[1].revents != 0, let part = Self.read(fromChild) {
        output += part
        guard output.count <= limit else { return false }
      }
      if requests[2].revents != 0, let part = Self.read(errorsOfChild) {
        errors += part.prefix(max(0, Self.errorLimit - errors.count))
      }
    }
    return true
  }

  private mutating func write(_ ends: Ends) {
    let count = input.withUnsafeBytes { Foundation.write(ends.writing, $0.baseAddress, $0.count) }
    if count > 0 { input = input.dropFirst(count) }
    // A command need not read its input: it decides itself whether that is an error.
    if input.isEmpty || count < 0 && errno != EAGAIN && errno != EINTR { ends.closeWriting() }
  }

  /// Returns what can be read; `nil` and a closed end at the end.
  private static func read(_ ends: Ends) -> Data? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Foundation.read(ends.reading, &buffer, buffer.count)
    if count > 0 { return Data(buffer.prefix(count)) }
    if count == 0 || errno != EINTR { ends.closeReading() }
    return nil
  }
}
