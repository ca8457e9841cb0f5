import CofferCPostgreSQL
import Foundation

/// A connection that is being established, on the thread of a loop.
final class ConnectionAttempt: LoopSource {
  typealias Completion = @Sendable (Result<ConnectionChannel, ConnectFailure>) -> Void

  let deadline: ContinuousClock.Instant?
  private let handle: OpaquePointer
  private unowned let thread: LoopThread
  private let completion: Completion
  private var id: UInt64 = 0
  private var isOver = false
  /// The last state in which libpq was, which tells what failed.
  private var stage = CONNECTION_STARTED
  private var handshake: Handshake?
  /// What looks at the requests of the server; `nil` if every way to log in is allowed.
  private var gate: AuthenticationGate?
  private var bindsChannel = false

  /// Begins to connect. The address must be numeric, or libpq would block while it looks up a name.
  static func start(
    _ parameters: ConnectionParameters, within: Duration, on thread: LoopThread, completion: @escaping Completion
  ) {
    guard let handle = parameters.withPointers({ pq_connectStartParams($0, $1, 0) }) else {
      return completion(.failure(.exhausted))
    }
    guard pq_status(handle) != CONNECTION_BAD else {
      defer { pq_finish(handle) }
      return completion(
        .failure(ConnectFailure(of: handle, stage: CONNECTION_NEEDED, handshake: nil, bindsChannel: false)))
    }
    // The text of an error then consists of its severity and its code.
    pq_setErrorVerbosity(handle, PQERRORS_SQLSTATE)
    pq_setNoticeProcessor(handle, { _, _ in }, nil)
    let attempt = ConnectionAttempt(handle, deadline: .now + within, on: thread, completion)
    // Without a password there is nothing to lose, unless the location demands a proof.
    let hasPassword = pq_pass(handle).map { $0.pointee != 0 } ?? false
    if let methods = parameters.authentication, hasPassword || parameters.demandsAuthentication {
      attempt.gate = AuthenticationGate(allowing: methods)
    }
    attempt.bindsChannel = parameters.value("channel_binding") == "require"
    attempt.id = thread.add(attempt)
    attempt.wait(writable: true)
  }

  private init(
    _ handle: OpaquePointer, deadline: ContinuousClock.Instant, on thread: LoopThread,
    _ completion: @escaping Completion
  ) {
    (self.handle, self.deadline, self.thread, self.completion) = (handle, deadline, thread, completion)
  }

  private func wait(writable: Bool) {
    if !thread.watch(pq_socket(handle), for: id, writable: writable, readable: !writable, isNew: true) {
      finish(.exhausted)
    }
  }

  func proceed(_ ready: Int32) {
    guard !isOver else { return }
    // libpq may replace the socket by another one, of the same number or not.
    thread.ignore(pq_socket(handle))
    stage = pq_status(handle)
    if stage == CONNECTION_MADE { gate?.beginAnew() }
    let isOffer = stage == CONNECTION_SSL_STARTUP && pq_sslInUse(handle) == 0
    let (socket, isWatched) = (pq_socket(handle), gate != nil && (isOffer || stage == CONNECTION_AWAITING_RESPONSE))
    if isWatched {
      switch gate?.look(at: handle) {
      case .refused: return finish(.authentication)
      case .incomplete: return wait(writable: false)
      case .allowed, nil: break
      }
    }
    let next = pq_connectPoll(handle)
    if isWatched { coffer_pq_let_in(socket) }
    switch next {
    case PGRES_POLLING_READING, PGRES_POLLING_WRITING:
      if pq_status(handle) == CONNECTION_SSL_STARTUP, handshake == nil { handshake = Handshake(handle) }
      wait(writable: next == PGRES_POLLING_WRITING)
    case PGRES_POLLING_OK:
      isOver = true
      handshake = nil
      thread.remove(id, socket: pq_socket(handle))
      guard let channel = ConnectionChannel(handle, on: thread) else { return completion(.failure(.exhausted)) }
      completion(.success(channel))
    default: finish(ConnectFailure(of: handle, stage: stage, handshake: handshake, bindsChannel: bindsChannel))
    }
  }

  func expire(at now: ContinuousClock.Instant) { finish(.deadline) }

  private func finish(_ failure: ConnectFailure) {
    guard !isOver else { return }
    isOver = true
    handshake = nil
    thread.remove(id, socket: pq_socket(handle))
    coffer_pq_cut(pq_socket(handle))
    pq_finish(handle)
    completion(.failure(failure))
  }
}

/// The TLS session of an attempt, which libpq frees when the handshake fails.
final class Handshake {
  private let session: UnsafeMutableRawPointer

  init?(_ handle: OpaquePointer) {
    guard let session = coffer_pq_retain_session(handle) else { return nil }
    self.session = session
  }

  deinit { coffer_pq_release_session(session) }

  /// The number with which OpenSSL refused the certificate; 0 if it did not.
  var refusal: Int { coffer_pq_verify_result(session) }
  var isEstablished: Bool { coffer_pq_is_established(session) != 0 }
}

/// The parameters of libpq for one attempt, by keyword.
struct ConnectionParameters: Sendable {
  private var pairs: [(keyword: String, value: String)] = []
  var password: SecretText?
  /// The allowed ways to log in; `nil` for all.
  var authentication: Set<AuthenticationMethod>?
  /// Whether they are demanded even if there is no password.
  var demandsAuthentication = false

  mutating func set(_ keyword: String, _ value: String) {
    pairs.removeAll { $0.keyword == keyword }
    pairs.append((keyword, value))
  }

  func value(_ keyword: String) -> String? { pairs.first { $0.keyword == keyword }?.value }

  /// Calls `body` with arrays that end with NULL, valid only during the call.
  func withPointers<R>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> R
  ) -> R {
    let texts = pairs.flatMap { [strdup($0.keyword), strdup($0.value)] }
    defer { for text in texts { free(text) } }
    var keywords = stride(from: 0, to: texts.count, by: 2).map { UnsafePointer<CChar>(texts[$0]) }
    var values = stride(from: 1, to: texts.count, by: 2).map { UnsafePointer<CChar>(texts[$0]) }
    guard let password else { return body(keywords + [nil], values + [nil]) }
    return "password".withCString { keyword in
      password.withCString { password in
        keywords.append(keyword)
        values.append(password)
        return body(keywords + [nil], values + [nil])
      }
    }
  }
}
