import CofferCore
import Foundation
import WatchifyCCurl

/// An HTTP request: GET, unless it has an upload.
struct HTTPRequest: Sendable {
  /// What a request sends.
  struct Upload: Sendable {
    var method = "POST"
    var body: Data
  }

  var url: URL
  var headers: [(name: String, value: String)] = []
  var upload: Upload?
  /// The file with the certificates that sign the server's certificate; `nil` for those of the system.
  var certificates: String?
  /// The addresses to which the host may resolve.
  var reach = NetworkReach.internet
}

/// A response of a server. Redirects are returned, not followed.
struct HTTPAnswer: Sendable {
  var status: Int
  var url: URL
  var headers: [(name: String, value: String)] = []
  /// The address that responded; that of the proxy, if one is used.
  var peer: String?
  var body = Data()

  /// Returns all values of a header, separated by commas; `nil` if there are none.
  func header(_ name: String) -> String? {
    let values = headers.lazy.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

/// The error for a response whose headers or body, packed or unpacked, exceed a limit.
struct AnswerTooLarge: Error {}

/// The error for an upload that was sent, at least in part, and not answered.
struct UnansweredUpload: Error {
  var cause: any Error
}

/// The error for a host without an allowed address.
struct ForbiddenAddress: Error, Hashable {
  /// The address to which the host resolved.
  var address: String
}

/// Sends requests with libcurl, one after another. Connections are reused; cookies and caches are not kept.
///
/// Foundation's `URLSession`, which also uses libcurl, buffers the unpacked body without a limit, so two megabytes from
/// a server can become gigabytes. Here every limit is enforced in libcurl's callbacks: a transfer ends at the first
/// byte beyond the limit, and no connection is opened to a forbidden address.
final class HTTPTransport: Sendable {
  /// The limit of a body and what happens beyond it.
  struct BodyLimit: Sendable {
    /// The maximum size of the unpacked body, in bytes.
    var bytes: Int
    /// Whether a larger body is truncated instead of failing the transfer.
    var cuts = false
  }

  private let queue = DispatchQueue(label: "watchify.http", qos: .utility)
  private let timeout: Duration
  private let longestTransfer: Duration
  /// The address of the multi handle, which holds the connections. It is an integer because a pointer is not sendable;
  /// libcurl allows its use by one thread at a time.
  private let multi: UInt

  /// Creates a transport. `timeout` limits the time without data, `longestTransfer` the time of a whole response.
  init(timeout: Duration, longestTransfer: Duration) {
    self.timeout = timeout
    self.longestTransfer = longestTransfer
    multi = UInt(bitPattern: Curl.library?.pointee.multi_init())
  }

  deinit {
    let multi = multi
    queue.async {
      if let multi = UnsafeMutableRawPointer(bitPattern: multi) { _ = Curl.library?.pointee.multi_cleanup(multi) }
    }
  }

  /// Sends a request and returns the response.
  /// - Throws: `URLError`, ``AnswerTooLarge``, ``ForbiddenAddress``, ``InsecureConnection`` or `CancellationError`; for
  ///   an upload also ``UnansweredUpload``.
  func send(_ request: HTTPRequest, limit: BodyLimit) async throws -> HTTPAnswer {
    guard let curl = Curl.library, multi != 0 else { throw Curl.Missing() }
    let ending = HTTPEnding(curl: curl, multi: multi, owner: self)
    let transfer = HTTPTransfer(request, limit: limit, silence: timeout, longest: longestTransfer, ending: ending)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        ending.begin(continuation)
        queue.async { transfer.run() }
      }
    } onCancel: {
      ending.cancel()
    }
  }
}

/// The completion of a transfer, which happens once: by its thread or by cancellation.
final class HTTPEnding: @unchecked Sendable {  // The function table is immutable; the rest is guarded by the lock.
  typealias Continuation = CheckedContinuation<HTTPAnswer, any Error>

  private struct State {
    var continuation: Continuation?
    var isCancelled = false
  }

  let curl: UnsafePointer<watchify_curl>
  let multi: UnsafeMutableRawPointer?
  /// Keeps the connections alive during the transfer.
  private let owner: HTTPTransport
  private let state = Locked(State())

  init(curl: UnsafePointer<watchify_curl>, multi: UInt, owner: HTTPTransport) {
    self.curl = curl
    self.owner = owner
    self.multi = UnsafeMutableRawPointer(bitPattern: multi)
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func begin(_ continuation: Continuation) {
    let isOver = state.withLock { state in
      if !state.isCancelled { state.continuation = continuation }
      return state.isCancelled
    }
    if isOver { continuation.resume(throwing: CancellationError()) }
  }

  func finish(_ result: Result<HTTPAnswer, any Error>) {
    let (continuation, isCancelled) = state.withLock { state in
      defer { state.continuation = nil }
      return (state.continuation, state.isCancelled)
    }
    // A cancelled transfer fails with an error of libcurl, which is replaced.
    continuation?.resume(with: isCancelled ? .failure(CancellationError()) : result)
  }

  /// Resumes the caller at once. The transfer's thread ends later, at the latest after a name lookup.
  func cancel() {
    state.withLock { $0.isCancelled = true }
    if let multi { _ = curl.pointee.multi_wakeup(multi) }
    finish(.failure(CancellationError()))
  }
}
